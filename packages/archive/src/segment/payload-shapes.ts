import { peekSeq, type Seq } from "@reprise/protocol";

/*
 * How most payloads of a log begin and end. A payload of the shape `i` is `{"seq":`, the event's seq, `before`, what is kept of it, and
 * `after`. Part of the format: shapes are added at the end, and never change.
 */
interface Shape {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

const encoder = new TextEncoder();
const SEQ_FIELD = encoder.encode('{"seq":');

/** What fits no shape is kept as it is. */
const RAW = 0;

/** The first that fits is taken. */
const SHAPES: readonly Shape[] = [
  around("", ""),
  around(',"type":"output.delta","text":"', '"}'),
  around(',"type":"output.delta","text":"', "}"),
  around(',"type":"reasoning.delta","text":"', '"}'),
  around(',"type":"reasoning.delta","text":"', "}"),
  around(',"type":"', "}"),
];

export const SHAPE_COUNT = SHAPES.length;

/** Where in a payload lies what its shape does not say. */
export interface Core {
  readonly shape: number;
  readonly from: number;
  readonly to: number;
}

/** @param seq what the event's place in its log implies; undefined where payloads are no events */
export function coreOf(payload: Uint8Array, seq: Seq | undefined): Core {
  if (seq !== undefined && peekSeq(payload) === seq) {
    const at = SEQ_FIELD.length + digitsOf(seq);
    for (let index = 1; index < SHAPES.length; index++) {
      // `index` is less than the number of shapes.
      const { before, after } = SHAPES[index]!;
      const from = at + before.length;
      const to = payload.length - after.length;
      if (from <= to && holdsAt(payload, at, before) && holdsAt(payload, to, after))
        return { shape: index, from, to };
    }
  }
  return { shape: RAW, from: 0, to: payload.length };
}

/** The length of a payload whose core has `coreLength` bytes. */
export function payloadLength(shape: number, seq: Seq, coreLength: number): number {
  if (shape === RAW) return coreLength;
  // A shape is less than SHAPE_COUNT: `coreOf` gives no other, and `readRuns` checks it.
  const { before, after } = SHAPES[shape]!;
  return SEQ_FIELD.length + digitsOf(seq) + before.length + coreLength + after.length;
}

/** Writes a payload to `target` from its first byte on. */
export function writePayload(target: Uint8Array, shape: number, seq: Seq, core: Uint8Array): void {
  if (shape === RAW) {
    target.set(core);
    return;
  }
  // A shape is less than SHAPE_COUNT: `coreOf` gives no other, and `readRuns` checks it.
  const { before, after } = SHAPES[shape]!;
  let at = SEQ_FIELD.length + digitsOf(seq);
  target.set(SEQ_FIELD);
  for (let rest: number = seq, digit = at - 1; digit >= SEQ_FIELD.length; digit--) {
    target[digit] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  target.set(before, at);
  at += before.length;
  target.set(core, at);
  target.set(after, at + core.length);
}

function around(before: string, after: string): Shape {
  return { before: encoder.encode(before), after: encoder.encode(after) };
}

function digitsOf(seq: Seq): number {
  let digits = 1;
  for (let limit = 10; seq >= limit; limit *= 10) digits++;
  return digits;
}

function holdsAt(payload: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let i = 0; i < expected.length; i++) if (payload[at + i] !== expected[i]) return false;
  return true;
}
