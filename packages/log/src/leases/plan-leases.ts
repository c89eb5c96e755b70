import { leaseSubject, memberSubject } from "@reprise/protocol";

/** The last word under one subject: who is there, or who holds a piece of work. An empty holder is nobody. */
export interface LeaseRecord {
  readonly subject: string;
  readonly holder: string;
  readonly streamSeq: number;
  readonly storedAtUs: number;
}

/** A piece of work, and the word about it that the next one has to follow. 0 where there is none. */
export interface LeaseAction {
  readonly name: string;
  readonly streamSeq: number;
}

export interface LeasePlan {
  readonly renew: readonly LeaseAction[];
  readonly release: readonly LeaseAction[];
  readonly gain: readonly LeaseAction[];
  readonly lost: readonly LeaseAction[];
}

export interface LeaseState {
  /** Everything that was said, this process's own newest word among it: the newest of all tells the time. */
  readonly words: readonly LeaseRecord[];
  readonly names: readonly string[];
  readonly holder: string;
  readonly held: ReadonlySet<string>;
  readonly group: string;
}

const LEASE_US = 8_000_000;

/** What a process does about the pieces of work: keeps what it has, up to its fair share, and takes what nobody has. */
export function planLeases({ words, names, holder, held, group }: LeaseState): LeasePlan {
  const now = words.reduce((newest, { storedAtUs }) => Math.max(newest, storedAtUs), 0);
  const isLive = (word: LeaseRecord | undefined) =>
    word !== undefined && word.holder !== "" && now - word.storedAtUs < LEASE_US;
  const bySubject = new Map(words.map((word) => [word.subject, word]));
  const members = words.filter((word) => word.subject === memberSubject(group, word.holder) && isLive(word));
  const share = Math.ceil(names.length / Math.max(1, members.length));

  const mine: LeaseAction[] = [];
  const free: LeaseAction[] = [];
  const lost: LeaseAction[] = [];
  for (const name of names) {
    const word = bySubject.get(leaseSubject(group, name));
    const step = { name, streamSeq: word?.streamSeq ?? 0 };
    const isMine = isLive(word) && word!.holder === holder;
    if (held.has(name) && (isMine || !isLive(word))) mine.push(step);
    else if (held.has(name)) lost.push(step);
    // A word of this process that it does not know of was thought lost: it counts, and is repeated.
    else if (!isLive(word) || isMine) free.push(step);
  }
  return {
    lost,
    renew: mine.slice(0, share),
    release: mine.slice(share),
    gain: free.slice(0, Math.max(0, share - mine.length)),
  };
}
