import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { HEADER } from "./header.ts";
import { streamUnavailable } from "./stream-api.ts";

export interface BatchRequest {
  readonly afterStreamSeq: number;
  /** What to select; may have wildcards. */
  readonly subject: string;
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export interface DirectBatch {
  /** Oldest first. */
  readonly messages: readonly Msg[];
  /** Whether there were more when the answer was made. */
  readonly more: boolean;
}

const TIMEOUT_MS = 5_000;
const END_OF_BATCH = 204;
const NOTHING_THERE = 404;

/**
 * The messages behind a place in a stream that are still there, one batch of them. A replica answers: what it says is true, but the
 * newest may be missing.
 * @throws RepriseError `broker_unavailable` when there is no whole answer within 5 s
 */
export async function readDirectBatch(
  connection: NatsConnection,
  stream: string,
  { afterStreamSeq, subject, maxMessages, maxBytes }: BatchRequest,
): Promise<DirectBatch> {
  const request = { seq: afterStreamSeq + 1, next_by_subj: subject, batch: maxMessages, max_bytes: maxBytes };
  const messages: Msg[] = [];
  try {
    const replies = await connection.requestMany(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(request), {
      strategy: "sentinel",
      maxWait: TIMEOUT_MS,
    });
    for await (const reply of replies) {
      const status = reply.headers?.code ?? 0;
      if (status === END_OF_BATCH) return { messages, more: Number(reply.headers?.get(HEADER.pending)) > 0 };
      if (status === NOTHING_THERE) return { messages, more: false };
      if (status !== 0) throw streamUnavailable(stream, `${status} ${reply.headers?.description}`);
      messages.push(reply);
    }
  } catch (cause) {
    throw streamUnavailable(stream, "no whole answer", cause);
  }
  // The client takes any empty message for the end of a batch, also one that is stored so.
  if (messages.at(-1)?.data.length === 0) return { messages, more: true };
  throw streamUnavailable(stream, "no whole answer in time");
}

/** Where a message of a batch lies in its stream. */
export function streamSeqOf({ headers }: Msg): number {
  return Number(headers?.get(HEADER.sequence));
}
