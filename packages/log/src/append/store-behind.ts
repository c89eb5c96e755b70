import { retry } from "@reprise/async";
import { RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Publish } from "../nats/publisher.ts";
import { HEADER } from "../nats/header.ts";
import { getLastMessage, headerOf } from "../nats/stream-api.ts";
import { createWriterName } from "../nats/writer-name.ts";

/** What it takes to store something behind a known place. */
export interface RowBroker {
  readonly publish: Publish;
  /** Asks leaders. */
  readonly reads: NatsConnection;
  /** How long a call goes on while the broker does not answer. */
  readonly budgetMs: number;
}

export interface StoredBehind {
  readonly stream: string;
  readonly subject: string;
  readonly payload: Uint8Array;
  /** The subject's last message; `STREAM_START` for none. */
  readonly expectedLast: StreamSeq;
}

const PAUSE_MS = 100;

/**
 * Stores a message if the subject's last one is still the expected one. A message whose answer was lost is told by a name that no other has: the
 * same bytes from another process are not ours.
 * @returns where it lies; undefined where another message is there
 * @throws RepriseError `broker_unavailable`
 */
export async function storeBehind(
  { publish, reads, budgetMs }: RowBroker,
  { stream, subject, payload, expectedLast }: StoredBehind,
): Promise<StreamSeq | undefined> {
  const name = createWriterName();
  const tryOnce = async (): Promise<{ at: StreamSeq | undefined } | undefined> => {
    const outcome = await publish(subject, payload, { expectedLast, extra: { [HEADER.attempt]: name } });
    if (outcome.kind === "stored") return { at: outcome.streamSeq };
    if (outcome.kind === "unavailable") return undefined;
    const last = await getLastMessage(reads, stream, subject);
    const at = last?.streamSeq ?? STREAM_START;
    // An earlier publish of ours may be under way.
    if (at === expectedLast) return undefined;
    return { at: last && headerOf(last, HEADER.attempt) === name ? at : undefined };
  };
  const patiently = () => tryOnce().catch(ifUnavailable);
  const outcome = await retry(patiently, { pauseMs: PAUSE_MS, budgetMs });
  if (outcome) return outcome.at;
  throw new RepriseError("broker_unavailable", "The broker does not store what the call has to write.", {
    retryAfterMs: 1_000,
  });
}

function ifUnavailable(error: unknown): undefined {
  if (error instanceof RepriseError && error.code === "broker_unavailable") return undefined;
  throw error;
}
