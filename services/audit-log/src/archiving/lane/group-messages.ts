import { notPublished, type StreamMessage } from "@reprise/broker";
import { isFillerSubject, peekSeq, type StreamSeq, type Seq, REQUEST_SEQ } from "@reprise/protocol";
import { laneKind, type OwnedKind, parseOwner } from "./lane-kind.ts";

/** The messages of one segment: consecutive messages of one generation. */
export interface Group extends OwnedKind {
  /** UTC, `2026-11-21`: of the first message. */
  readonly day: string;
  /** For a log, the `seq` of its first event; 0 for the other kinds. */
  readonly firstSeq: Seq;
  readonly messages: StreamMessage[];
}

export interface Grouped {
  /** In the order in which they lie in a file: by tenant, day, generation, kind, and place. */
  readonly groups: readonly Group[];
  /** Messages of no generation: not the platform's, or, without an error, the filler of an erasure. */
  readonly strays: readonly { readonly streamSeq: StreamSeq; readonly error?: unknown }[];
}

const DAY_US = 86_400_000_000;

/**
 * Groups a range of a stream by owner. A log's group ends where its `seq` does not increase by one: this happens in a store that has lost events and stored
 * new ones in their place.
 */
export function groupMessages(stream: string, messages: readonly StreamMessage[]): Grouped {
  const kind = laneKind(stream);
  const open = new Map<string, Group>();
  const owners = new Map<string, OwnedKind>();
  const groups: Group[] = [];
  const strays: { streamSeq: StreamSeq; error?: unknown }[] = [];
  for (const message of messages) {
    const { subject } = message;
    // Every service may publish events: what lies in a log was shown to readers, however it came there.
    if (kind !== "log" && !message.isPublished && !isFillerSubject(subject)) {
      strays.push({ streamSeq: message.streamSeq, error: notPublished(subject) });
      continue;
    }
    let owner = owners.get(subject);
    if (!owner) {
      if (isFillerSubject(subject)) {
        strays.push({ streamSeq: message.streamSeq });
        continue;
      }
      try {
        owner = parseOwner(stream, subject);
      } catch (error) {
        strays.push({ streamSeq: message.streamSeq, error });
        continue;
      }
      owners.set(subject, owner);
    }
    const seq = kind === "log" ? peekSeq(message.payload) : REQUEST_SEQ;
    if (seq < 0) {
      strays.push({ streamSeq: message.streamSeq, error: new TypeError("an event without a seq") });
      continue;
    }
    const day = dayOf(message.storedAtUs);
    const key = kind === "ops" ? `${owner.kind}.${owner.tenant}.${owner.generation}` : subject;
    let group = open.get(key);
    const goesOn = kind !== "log" || (group && seq === group.firstSeq + group.messages.length);
    if (!group || group.day !== day || !goesOn) {
      group = { ...owner, day, firstSeq: seq, messages: [] };
      open.set(key, group);
      groups.push(group);
    }
    group.messages.push(message);
  }
  return { groups: groups.toSorted(byPlace), strays };
}

function byPlace(a: Group, b: Group): number {
  return (
    compare(a.tenant, b.tenant) ||
    compare(a.day, b.day) ||
    compare(a.generation, b.generation) ||
    compare(a.kind, b.kind) ||
    // A group is made for a message, and holds it.
    a.messages[0]!.streamSeq - b.messages[0]!.streamSeq
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

let lastDay = { number: -1, text: "" };

function dayOf(storedAtUs: number): string {
  const number = Math.floor(storedAtUs / DAY_US);
  if (number !== lastDay.number)
    lastDay = { number, text: new Date(number * 86_400_000).toISOString().slice(0, 10) };
  return lastDay.text;
}
