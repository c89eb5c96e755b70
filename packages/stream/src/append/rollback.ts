import { pause } from "@reprise/async";
import { type GenerationRef, peekSeq, STREAM_START } from "@reprise/protocol";
import type { LeaderReader } from "../read/leader-reader.ts";
import { EMPTY_LOG, isHead, type LogHead, readAfterHead, toHead } from "../read/log-head.ts";
import type { StoredEvent } from "../read/stored-event.ts";

/** The rest of a log whose head is lost, and the events that others have appended since. */
export interface RemainingLog {
  readonly head: LogHead;
  readonly events: readonly StoredEvent[];
}

/** A leader that was deposed learns of it with the next heartbeat of its group, which nats-server sends every second. */
export const RECHECK_MS = 1_000;

/**
 * Finds out whether a head that was missed at the leader is lost. A leader that has been deposed and does not know it yet answers
 * with an old log, so it is asked again after a while: only two answers that agree count. They are no proof: that is the next
 * compare-and-set, which no deposed leader can commit.
 * @returns undefined when the head is there after all, or has merely expired
 * @throws RepriseError `broker_unavailable`
 */
export async function findRemainingLog(
  leader: LeaderReader,
  ref: GenerationRef,
  head: LogHead,
): Promise<RemainingLog | undefined> {
  await pause(RECHECK_MS);
  if (await readAfterHead(leader, ref, head)) return undefined;
  const events = await leader.readTail(ref, STREAM_START);
  const [oldest] = events;
  // Events expire from the front: a log whose first event comes after the head has not lost its end.
  if (events.some((event) => isHead(event, head)) || (oldest && peekSeq(oldest.payload) > head.seq))
    return undefined;
  const last = events.at(-1);
  return { head: last ? toHead(last) : EMPTY_LOG, events };
}
