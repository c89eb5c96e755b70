/** The events that a reader got, compared with those that it should have got. */
export interface Verdict {
  lost: number;
  repeated: number;
  reordered: number;
  identical: boolean;
}

interface Numbered {
  readonly seq: number;
  /** The event as JSON text. */
  readonly text: string;
}

/** Compares two readers of one log. */
export function compareReaders(expected: readonly Numbered[], got: readonly Numbered[]): Verdict {
  const seen = new Map<number, number>();
  for (const { seq } of got) seen.set(seq, (seen.get(seq) ?? 0) + 1);
  return {
    lost: expected.filter(({ seq }) => !seen.has(seq)).length,
    repeated: [...seen.values()].filter((times) => times > 1).length,
    reordered: got.filter(({ seq }, i) => seq < (got[i - 1]?.seq ?? seq)).length,
    identical: expected.map(({ text }) => text).join("\n") === got.map(({ text }) => text).join("\n"),
  };
}

/**
 * From when a piece of text left the engine to when a reader had it, in milliseconds: the median and the 99th percentile of those
 * that left while the reader was following live.
 */
export function addedLatency(
  pieces: readonly { end: number; at: number }[],
  arrivals: readonly { end: number; at: number }[],
): { p50: number; p99: number } {
  const liveFrom = arrivals[0]?.at ?? Number.POSITIVE_INFINITY;
  const delays = pieces
    .filter(({ at }) => at >= liveFrom)
    .map(
      ({ end, at }) => (arrivals.find((arrival) => arrival.end >= end)?.at ?? Number.POSITIVE_INFINITY) - at,
    )
    .toSorted((a, b) => a - b);
  const quantile = (q: number) =>
    delays[Math.min(delays.length - 1, Math.floor(delays.length * q))] ?? Number.NaN;
  return { p50: quantile(0.5), p99: quantile(0.99) };
}
