import { VarintReader, VarintWriter } from "../varint.ts";
import { BUCKETS, bucketOf, MAX_VALUE } from "./bucket.ts";
import { Sketch } from "./sketch.ts";

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
  const reader = new VarintReader(bytes, "A sketch");
  if (reader.read() !== VERSION) throw reader.fail("is of another version");
  const [count, zeros, sum, min, max] = [
    reader.read(),
    reader.read(),
    reader.read(),
    reader.read(),
    reader.read(),
  ];
  const buckets: (readonly [number, number])[] = [];
  let counted = zeros;
  for (let next = 0; !reader.isAtEnd;) {
    const bucket = next + reader.read();
    const times = reader.read();
    if (bucket >= BUCKETS || times === 0 || times > MAX_TIMES)
      throw reader.fail("holds an impossible bucket");
    buckets.push([bucket, times]);
    counted += times;
    next = bucket + 1;
  }
  const least = zeros > 0 ? undefined : buckets.at(0)?.[0];
  const greatest = buckets.at(-1)?.[0];
  const areBoundsTrue =
    max <= MAX_VALUE &&
    (greatest === undefined ? max === 0 : max > 0 && bucketOf(max) === greatest) &&
    (least === undefined ? min === 0 : min > 0 && bucketOf(min) === least);
  if (counted !== count || !areBoundsTrue || sum < max || sum > max * count)
    throw reader.fail("contradicts itself");
  return Sketch.of({ count, zeros, sum, min, max }, buckets);
}
