import type { BlobStore } from "@reprise/archive";

/** Commits of a lane, the first and the last included. */
export interface CommitRange {
  readonly first: number;
  readonly last: number;
}

/** Which commits of a lane count no longer. Undefined for another kind of key. */
export function parseSuperseded(key: string): (CommitRange & { stream: string }) | undefined {
  const [, stream, first, last] = /^superseded\/([A-Za-z0-9_-]+)\/([0-9]+)-([0-9]+)$/.exec(key) ?? [];
  if (stream === undefined) return undefined;
  return { stream, first: Number(first), last: Number(last) };
}

export function supersededKey(stream: string, { first, last }: CommitRange): string {
  return `superseded/${stream}/${first}-${last}`;
}

/** The ranges of one stream; they may overlap. */
export async function listSuperseded(store: BlobStore, stream: string): Promise<CommitRange[]> {
  const ranges: CommitRange[] = [];
  for await (const { key } of store.list(`superseded/${stream}/`)) {
    const range = parseSuperseded(key);
    if (range) ranges.push(range);
  }
  return ranges;
}

export function holds({ first, last }: CommitRange, n: number): boolean {
  return first <= n && n <= last;
}

export function overlaps(a: CommitRange, b: CommitRange): boolean {
  return a.first <= b.last && b.first <= a.last;
}
