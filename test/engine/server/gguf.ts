/** A value of a GGUF file's metadata. A list is of texts or of whole numbers. */
export type GgufValue =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly texts: readonly string[] }
  | { readonly i32s: readonly number[] };

export interface Tensor {
  readonly name: string;
  /** Rows first; a vector has one. */
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, list: 9 } as const;
const VERSION = 3;
const ALIGNMENT = 32;
const F32 = 0;

/** A model file as llama.cpp reads it: metadata, where each tensor lies, and the tensors, all of them in full precision. */
export function encodeGguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly Tensor[],
): Buffer[] {
  const keys = Object.entries(metadata);
  const head = [Buffer.from("GGUF"), u32(VERSION), u64(tensors.length), u64(keys.length)];
  for (const [key, value] of keys) head.push(text(key), ...encodeValue(value));
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    // The fastest dimension comes first.
    const dimensions = shape.toReversed().map(u64);
    head.push(text(name), u32(shape.length), ...dimensions, u32(F32), u64(offset));
    offset += padded(data.byteLength);
  }
  const bytes = Buffer.concat(head);
  return [
    bytes,
    Buffer.alloc(padded(bytes.length) - bytes.length),
    ...tensors.flatMap(({ data }) => [
      Buffer.from(data.buffer, data.byteOffset, data.byteLength),
      Buffer.alloc(padded(data.byteLength) - data.byteLength),
    ]),
  ];
}

function encodeValue(value: GgufValue): Buffer[] {
  if ("u32" in value) return [u32(TYPE.u32), u32(value.u32)];
  if ("f32" in value) return [u32(TYPE.f32), f32(value.f32)];
  if ("bool" in value) return [u32(TYPE.bool), Buffer.from([value.bool ? 1 : 0])];
  if ("text" in value) return [u32(TYPE.text), text(value.text)];
  const { type, items } =
    "texts" in value
      ? { type: TYPE.text, items: value.texts.map(text) }
      : { type: TYPE.i32, items: value.i32s.map(u32) };
  return [u32(TYPE.list), u32(type), u64(items.length), ...items];
}

function padded(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}
