import type { Segment } from "../segment/segment-header.ts";

/**
 * The order of rows: by generation, kind, epoch, first_seq, and place in the stream. A generation's rows are neighbours, in their own
 * order.
 */
export function compareSegments({ header: a }: Segment, { header: b }: Segment): number {
  return (
    compareText(a.generation, b.generation) ||
    compareText(a.kind, b.kind) ||
    a.epoch - b.epoch ||
    a.first_seq - b.first_seq ||
    a.first_stream_seq - b.first_stream_seq
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
