import { peekSeq, type Seq } from "@reprise/protocol";
import type { StoredEvent } from "../read/stored-event.ts";

/**
 * The outcome of an ambiguous publish, from the log's tail.
 * `landed`: the first event of the tail is the one we sent; `others` is what followed it.
 * `absent`: it is not stored; `others` are the events that other writers stored instead, if any.
 */
export type ResolvedPublish =
  | { kind: "landed"; event: StoredEvent; others: readonly StoredEvent[] }
  | { kind: "absent"; others: readonly StoredEvent[] };

/**
 * Because appends are compare-and-set, only the first event after the last one we know of can be ours; a writer's name is
 * unique to one appender, and an appender has one publish in flight, so name and seq together identify it.
 */
export function resolvePublish(
  tail: readonly StoredEvent[],
  sent: { writer: string; seq: Seq },
): ResolvedPublish {
  const [first, ...rest] = tail;
  const isOurs = first?.writer === sent.writer && peekSeq(first.payload) === sent.seq;
  return isOurs ? { kind: "landed", event: first, others: rest } : { kind: "absent", others: tail };
}
