import { retry } from "@reprise/async";
import { RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";
import { HEADER, getLastMessage, headerOf, ifUnavailable, createWriterName } from "@reprise/broker";
import { patienceOf, type RowBroker } from "./row-broker.ts";

export interface StoredAfter {
  readonly stream: string;
  readonly subject: string;
  readonly payload: Uint8Array;
  /** The subject's last message; `STREAM_START` for none. */
  readonly expectedLast: StreamSeq;
  /** After how many seconds the broker removes it, 1 or more; its stream has to allow that. Default: the stream's time. */
  readonly ttlSeconds?: number | undefined;
}

/**
 * Stores a message if the subject's last one is still the expected one. A message whose answer was lost is told by a name that no other has: the
 * same bytes from another process are not ours.
 * @returns where it lies; undefined where another message is there
 * @throws RepriseError `broker_unavailable`
 */
export async function storeAfter(
  broker: RowBroker,
  { stream, subject, payload, expectedLast, ttlSeconds }: StoredAfter,
): Promise<StreamSeq | undefined> {
  const { publish, reads } = broker;
  const name = createWriterName();
  const extra = {
    [HEADER.attempt]: name,
    ...(ttlSeconds !== undefined && { [HEADER.ttl]: `${ttlSeconds}` }),
  };
  const tryOnce = async (): Promise<{ at: StreamSeq | undefined } | undefined> => {
    const outcome = await publish(subject, payload, { expectedLast, extra });
    if (outcome.kind === "stored") return { at: outcome.streamSeq };
    if (outcome.kind === "unavailable") return undefined;
    const last = await getLastMessage(reads, stream, subject);
    const at = last?.streamSeq ?? STREAM_START;
    // An earlier publish of ours may be under way.
    if (at === expectedLast) return undefined;
    return { at: last && headerOf(last, HEADER.attempt) === name ? at : undefined };
  };
  const patiently = () => tryOnce().catch(ifUnavailable(undefined));
  const outcome = await retry(patiently, patienceOf(broker));
  if (outcome) return outcome.at;
  throw new RepriseError("broker_unavailable", "The broker does not store what the call has to write.", {
    retryAfterMs: 1_000,
  });
}
