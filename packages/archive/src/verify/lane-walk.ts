import type { Commit, Lane } from "../commit/commit.ts";
import { commitKey } from "../store/paths.ts";
import type { StreamRange } from "../commit/record.ts";
import type { Findings } from "./finding.ts";

/** This stream keeps last values, so gaps are expected in it. */
const LAST_VALUES = "VERDICTS";

/** Checks that the ranges in commits join, and account for every place of their streams. */
export class LaneWalk {
  /** Streams that lost something before it was archived, or that were archived in several epochs. */
  readonly broken = new Set<string>();
  readonly #findings: Findings;
  readonly #lanes = new Map<string, Lane>();
  /** By stream, and when it was made: what erasures say they have taken out. */
  readonly #purged = new Map<string, StreamRange[]>();
  /** By the same: what commits have skipped. */
  readonly #skipped = new Map<string, { readonly stream: string; readonly ranges: StreamRange[] }>();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** All commits, in order. */
  take(commit: Commit): void {
    if (commit.lane) this.#check(commit, commit.lane);
    for (const record of commit.tenants.flatMap(({ records }) => records)) {
      if (record.kind !== "erasure_requested") continue;
      for (const [stream, { created, ranges }] of Object.entries(record.purged)) {
        const made = incarnation({ stream, created });
        const known = this.#purged.get(made) ?? [];
        for (const range of ranges) known.push(range);
        this.#purged.set(made, known);
      }
    }
  }

  /** Called after the last commit: messages that an erasure removes are skipped as soon as it is requested, and named a little later. */
  end(): void {
    const unnamed = new Map<string, number>();
    for (const [made, { stream, ranges }] of this.#skipped) {
      const places = count(ranges) - overlap(ranges, this.#purged.get(made) ?? []);
      if (places > 0) unnamed.set(stream, (unnamed.get(stream) ?? 0) + places);
    }
    for (const [stream, places] of unnamed)
      this.#findings.add("note", stream, `${places} places were left out that no erasure names`);
  }

  #check({ n, tenants }: Commit, lane: Lane): void {
    const where = commitKey(n);
    const { stream, epoch, first, last, events, gaps, skipped } = lane;
    if (!goesOn(this.#lanes.get(stream), lane))
      this.#findings.add("tampered", where, `its stretch of ${stream} does not follow the one before`);
    this.#lanes.set(stream, lane);
    if (epoch > 0) this.broken.add(stream);
    const places = [...gaps, ...skipped].toSorted((a, b) => a[0] - b[0]);
    const areApart = places.every(
      ([from, to], i) => from >= first && to <= last && from <= to && from > (places[i - 1]?.[1] ?? 0),
    );
    if (!areApart || events + count(places) !== last - first + 1)
      this.#findings.add(
        "tampered",
        where,
        `its messages, gaps and skipped places are not ${first} to ${last}`,
      );
    const filed = tenants.flatMap(({ files }) => files).reduce((sum, file) => sum + file.events, 0);
    if (filed !== events)
      this.#findings.add("tampered", where, `its files hold ${filed} messages, and it says ${events}`);
    for (const [from, to] of gaps) {
      this.broken.add(stream);
      this.#findings.add("gap", where, `${stream} had lost ${from} to ${to} before it could be archived`);
    }
    if (stream === LAST_VALUES) return;
    const known = this.#skipped.get(incarnation(lane)) ?? { stream, ranges: [] };
    for (const range of skipped) known.ranges.push(range);
    this.#skipped.set(incarnation(lane), known);
  }
}

/** Streams of one name that the broker has made at different times are different streams. */
function incarnation({ stream, created }: Pick<Lane, "stream" | "created">): string {
  return `${stream} ${created}`;
}

/** A later epoch may go back, and never ahead: that would hide what lies between. */
function goesOn(before: Lane | undefined, { epoch, created, first }: Lane): boolean {
  if (!before) return epoch === 0 && first === 1;
  if (epoch === before.epoch) return first === before.last + 1 && created === before.created;
  if (epoch !== before.epoch + 1 || first < 1) return false;
  return created === before.created ? first <= before.last + 1 : first === 1;
}

function count(ranges: readonly StreamRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** Counts the places of `ranges` that are in some of `others`. */
function overlap(ranges: readonly StreamRange[], others: readonly StreamRange[]): number {
  const named = join(others);
  let places = 0;
  let next = 0;
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    for (let other = named[next]; other && other[1] < first; other = named[++next]);
    for (let i = next, other = named[i]; other && other[0] <= last; other = named[++i])
      places += Math.min(other[1], last) - Math.max(other[0], first) + 1;
  }
  return places;
}

/** The same places, ascending and apart. */
function join(ranges: readonly StreamRange[]): StreamRange[] {
  const joined: StreamRange[] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1]) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}
