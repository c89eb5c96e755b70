import { pause } from "@reprise/async";
import { type Broker, readStreamInfo, readStreamMessages, type StreamMessage } from "@reprise/broker";
import {
  decodeOpsRecord,
  ERASED_SUBJECTS,
  type GenerationRef,
  OPS_STREAM,
  parseOpsSubject,
  streamOf,
  STREAM_START,
  asStreamSeq,
} from "@reprise/protocol";
import type { FactStore } from "../facts/fact-store.ts";
import type { RowSource } from "../facts/row-source.ts";

export interface KeepForgottenOptions {
  readonly facts: FactStore;
  readonly rows: RowSource;
  readonly connection: Broker["reads"];
  /** Stream of logs: the rows of its generations are forgotten. */
  readonly stream: string;
  readonly onForgotten: (rows: number) => void;
  readonly onError: (error: unknown) => void;
  /** Default 30 s. */
  readonly everyMs?: number;
  /** For how long an erasure is carried out again: a process that lost its lease may write meanwhile what it has read before. Default 10 min. */
  readonly againMs?: number;
  /** By how much the clocks of the broker's servers may differ. Default 1 min. */
  readonly skewMs?: number;
}

const EVERY_MS = 30_000;
const AGAIN_MS = 600_000;
const SKEW_MS = 60_000;
const US_PER_MS = 1_000;
const PLACE = "erasures";
const BATCH = { maxMessages: 1_000, maxBytes: 1_024 * 1_024 };

/**
 * Forgets the metadata of generations that are erased, as OPS records it, until `signal` aborts. The place in OPS moves past an erasure only after this
 * stream's lane has read all messages that the log had
 * at that time, as its row may come until then; the next round makes up for one that fails.
 */
export async function keepForgotten(options: KeepForgottenOptions, signal: AbortSignal): Promise<void> {
  const { onError, everyMs = EVERY_MS } = options;
  while (!signal.aborted) {
    try {
      await forgetErased(options);
    } catch (error) {
      onError(error);
    }
    await pause(everyMs, signal);
  }
}

async function forgetErased(options: KeepForgottenOptions): Promise<void> {
  const { facts, rows, connection, stream, onForgotten, againMs = AGAIN_MS, skewMs = SKEW_MS } = options;
  const cursor = facts.outbox(PLACE, stream);
  const [ops, place] = [await readStreamInfo(connection, OPS_STREAM), await cursor.place()];
  // A stream that was created again, or has lost its end, is read from its beginning: to forget twice changes nothing.
  let after = asStreamSeq(ops.lastStreamSeq < place ? STREAM_START : place);
  let done = after;
  let isDone = true;
  for (;;) {
    const messages = await readStreamMessages(connection, OPS_STREAM, {
      ...BATCH,
      subject: ERASED_SUBJECTS,
      afterStreamSeq: after,
    });
    const last = messages.at(-1);
    if (!last) break;
    // What the log had when the erasure was recorded is before this, and before what was stored later.
    const { lastStreamSeq: end } = await readStreamInfo(connection, stream);
    const committed = await facts.lane(stream).last();
    const refs = messages.flatMap((message) => refsOf(message, stream));
    if (refs.length > 0) onForgotten(await facts.forget(stream, refs, rows));
    for (const { streamSeq, storedAtUs } of messages) {
      const isOld = ops.atUs - storedAtUs >= againMs * US_PER_MS;
      const isBehind = (committed?.last ?? STREAM_START) >= end;
      const isLater = (committed?.last_at ?? 0) > storedAtUs + skewMs * US_PER_MS;
      isDone &&= isOld && (isBehind || isLater);
      if (isDone) done = streamSeq;
    }
    after = last.streamSeq;
  }
  if (done !== place) await cursor.advance(done);
}

function refsOf({ subject, payload }: StreamMessage, stream: string): GenerationRef[] {
  const { tenant, generation } = parseOpsSubject(subject);
  const isErased = decodeOpsRecord(payload)?.kind === "erased";
  return isErased && generation !== undefined && streamOf(generation) === stream
    ? [{ tenant, generation }]
    : [];
}
