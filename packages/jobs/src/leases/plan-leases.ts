import { leaseSubject, memberSubject, type StreamSeq, STREAM_START } from "@reprise/protocol";

/** The last record under one subject: a member, or the holder of a piece of work. An empty holder is none. */
export interface LeaseRecord {
  readonly subject: string;
  readonly holder: string;
  readonly streamSeq: StreamSeq;
  readonly storedAtUs: number;
}

/** A piece of work, and the stream sequence of its last record, which the next one has to follow; `STREAM_START` where there is none. */
export interface LeaseAction {
  readonly name: string;
  readonly streamSeq: StreamSeq;
}

export interface LeasePlan {
  readonly renew: readonly LeaseAction[];
  readonly release: readonly LeaseAction[];
  readonly gain: readonly LeaseAction[];
  readonly lost: readonly LeaseAction[];
}

export interface LeaseState {
  /** All records, this process's own newest one among them: the newest of all is the current time. */
  readonly words: readonly LeaseRecord[];
  readonly names: readonly string[];
  readonly holder: string;
  readonly held: ReadonlySet<string>;
  readonly group: string;
}

const LEASE_US = 8_000_000;

/** Plans a process's leases: it keeps the pieces that it has, up to its fair share, and takes pieces without a holder. */
export function planLeases({ words, names, holder, held, group }: LeaseState): LeasePlan {
  const now = words.reduce((newest, { storedAtUs }) => Math.max(newest, storedAtUs), 0);
  const isLive = (word: LeaseRecord | undefined): word is LeaseRecord =>
    word !== undefined && word.holder !== "" && now - word.storedAtUs < LEASE_US;
  const bySubject = new Map(words.map((word) => [word.subject, word]));
  const members = words.filter((word) => word.subject === memberSubject(group, word.holder) && isLive(word));
  const share = Math.ceil(names.length / Math.max(1, members.length));

  const mine: LeaseAction[] = [];
  const free: LeaseAction[] = [];
  const lost: LeaseAction[] = [];
  for (const name of names) {
    const word = bySubject.get(leaseSubject(group, name));
    const step = { name, streamSeq: word?.streamSeq ?? STREAM_START };
    const isMine = isLive(word) && word.holder === holder;
    if (held.has(name) && (isMine || !isLive(word))) mine.push(step);
    else if (held.has(name)) lost.push(step);
    // A record of this process that it does not know of was taken for lost: it counts, and is repeated.
    else if (!isLive(word) || isMine) free.push(step);
  }
  return {
    lost,
    renew: mine.slice(0, share),
    release: mine.slice(share),
    gain: free.slice(0, Math.max(0, share - mine.length)),
  };
}
