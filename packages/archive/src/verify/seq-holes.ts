type SeqRange = readonly [from: number, to: number];

/** By generation: the ranges of its log that are archived, each with its epoch. */
export type LogParts = Map<
  string,
  { readonly stream: string; readonly parts: (readonly [epoch: number, from: number, to: number])[] }
>;

/** The logs that lack something between their beginning and the last event there is of them. */
export function* findSeqHoles(
  logs: LogParts,
): Generator<{ generation: string; stream: string; holes: SeqRange[] }> {
  for (const [generation, { stream, parts }] of logs) {
    const holes: SeqRange[] = [];
    let next = 0;
    for (const [, from, to] of parts.toSorted((a, b) => a[1] - b[1])) {
      if (from > next) holes.push([next, from - 1]);
      next = Math.max(next, to + 1);
    }
    if (holes.length > 0) yield { generation, stream, holes };
  }
}
