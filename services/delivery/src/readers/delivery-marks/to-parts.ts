import type { DeliveryMark } from "@reprise/protocol";

/** A record is much smaller than the broker's largest message. In bytes, roughly, as a withdrawal and the rest of a mark are. */
const MAX_PART_BYTES = 256 * 1_024;
const MARK_BYTES = 400;
const WITHDRAWAL_BYTES = 16;

/** Marks in their order, in parts that each fit into one record. */
export function toParts(marks: readonly DeliveryMark[]): DeliveryMark[][] {
  const parts: DeliveryMark[][] = [];
  let part: DeliveryMark[] = [];
  let bytes = MAX_PART_BYTES;
  for (const mark of marks) {
    const { withdrawn = [], gaps = "" } = mark;
    const size = MARK_BYTES + gaps.length + WITHDRAWAL_BYTES * withdrawn.length;
    if (bytes + size > MAX_PART_BYTES) {
      parts.push((part = []));
      bytes = 0;
    }
    part.push(mark);
    bytes += size;
  }
  return parts;
}
