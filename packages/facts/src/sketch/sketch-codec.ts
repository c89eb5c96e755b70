import { VarintReader, VarintWriter } from "../varint.ts";
import { BUCKETS, bucketOf, MAX_VALUE } from "./bucket.ts";
import { Sketch, type SketchSummary } from "./sketch.ts";

const VERSION = 1;
const MAX_TIMES = 2 ** 32 - 1;

/** One encoding for one sketch: equal sketches have equal bytes. 60 to 300 of them for what one generation measures, up to some 600 for values far apart. */
export function encodeSketch(sketch: Sketch): Uint8Array {
  const { count, zeros, sum, min, max } = sketch.summary;
  const writer = new VarintWriter();
  for (const field of [VERSION, count, zeros, sum, min, max]) writer.write(field);
  let next = 0;
  for (const [bucket, times] of sketch.buckets()) {
    writer.write(bucket - next);
    writer.write(times);
    next = bucket + 1;
  }
  return writer.bytes;
}

/** @throws RepriseError `protocol_violation` for what `encodeSketch` has not written */
export function decodeSketch(bytes: Uint8Array): Sketch {
  const sketch = new Sketch();
  mergeEncodedSketch(sketch, bytes);
  return sketch;
}

/** The buckets that are being read, and how often each was counted. One for all, as a question reads millions of sketches and none at the same time as another. */
const bucketsRead = new Uint16Array(BUCKETS);
const timesRead = new Uint32Array(BUCKETS);

/**
 * Adds what `encodeSketch` has written to a sketch, without making another one.
 * @returns what was added
 * @throws RepriseError `protocol_violation` for other bytes; then nothing is added
 */
export function mergeEncodedSketch(into: Sketch, bytes: Uint8Array): SketchSummary {
  const reader = new VarintReader(bytes, "A sketch");
  if (reader.read() !== VERSION) throw reader.fail("is of another version");
  const count = reader.read();
  const zeros = reader.read();
  const sum = reader.read();
  const min = reader.read();
  const max = reader.read();
  let length = 0;
  let counted = zeros;
  for (let next = 0; !reader.isAtEnd; length++) {
    const bucket = next + reader.read();
    const times = reader.read();
    if (bucket >= BUCKETS || times === 0 || times > MAX_TIMES)
      throw reader.fail("holds an impossible bucket");
    bucketsRead[length] = bucket;
    timesRead[length] = times;
    counted += times;
    next = bucket + 1;
  }
  const least = zeros > 0 || length === 0 ? undefined : bucketsRead[0];
  const greatest = length === 0 ? undefined : bucketsRead[length - 1];
  const areBoundsTrue =
    max <= MAX_VALUE &&
    (greatest === undefined ? max === 0 : max > 0 && bucketOf(max) === greatest) &&
    (least === undefined ? min === 0 : min > 0 && bucketOf(min) === least);
  if (counted !== count || !areBoundsTrue || sum < max || sum > max * count)
    throw reader.fail("contradicts itself");
  const summary = { count, zeros, sum, min, max };
  into.addCounted(summary, bucketsRead.subarray(0, length), timesRead);
  return summary;
}
