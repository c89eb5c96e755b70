import { encodeEvent, type EventDraft, asSeq, asStreamSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createLog } from "../testing/events.ts";
import { decodeMessages, encodeMessages, type MessageContext } from "./message-codec.ts";
import { writeColumn } from "./number-column.ts";
import type { ArchivedMessage } from "./segment-header.ts";

const encoder = new TextEncoder();
const anyText = fc.string({ unit: "binary" });

const anyDraft: fc.Arbitrary<EventDraft> = fc.oneof(
  fc.record({ type: fc.constant("output.delta" as const), text: anyText }),
  fc.record({
    type: fc.constant("output.delta" as const),
    text: anyText,
    output: fc.nat(9),
    tokens: fc.nat(9),
  }),
  fc.record({ type: fc.constant("reasoning.delta" as const), text: anyText }),
  fc.record({ type: fc.constant("reasoning.delta" as const), text: anyText, tokens: fc.nat(9) }),
  fc.record({ type: fc.constant("output.rewind" as const), to_seq: fc.nat().map(asSeq), reason: anyText }),
);

/** Bytes that are nearly an event, at the place `seq`. */
function nearMisses(seq: number): string[] {
  const delta = `{"seq":${seq},"type":"output.delta","text":"`;
  return [
    "",
    `{"seq":${seq}`,
    `{"seq":${seq},`,
    `{"seq":${seq},"type":"`,
    `{"seq":${seq},"type":"}`,
    `{"seq":0${seq},"type":"output.delta","text":"a"}`,
    `{"seq":${seq + 1},"type":"output.delta","text":"a"}`,
    `{"seq": ${seq},"type":"output.delta","text":"a"}`,
    delta,
    `${delta}}`,
    `${delta}"}`,
    `${delta}"`,
    `${delta}a"} `,
    `${delta}a","tokens":2}`,
    `{"seq":${seq},"note":"a"}`,
  ];
}

const anyPayloadAt = (seq: number): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    fc.uint8Array(),
    anyDraft.map((draft) => encodeEvent(asSeq(seq), draft)),
    fc.constantFrom(...nearMisses(seq)).map((text) => encoder.encode(text)),
  );

const anyMessages: fc.Arbitrary<{ messages: ArchivedMessage[]; context: MessageContext }> = fc
  .record({
    count: fc.integer({ min: 1, max: 40 }),
    firstSeq: fc.option(fc.oneof(fc.nat(200), fc.nat(2 ** 40)).map(asSeq), { nil: undefined }),
    streamSeq: fc.nat().map(asStreamSeq),
    storedAtUs: fc.maxSafeNat(),
  })
  .chain((context) => {
    const messages = Array.from({ length: context.count }, (_, i) =>
      fc.record({
        streamSeq: fc.maxSafeNat().map(asStreamSeq),
        storedAtUs: fc.maxSafeNat(),
        payload: anyPayloadAt((context.firstSeq ?? 0) + i),
      }),
    );
    return fc.record({ messages: fc.tuple(...messages), context: fc.constant(context) });
  });

function contextOf(log: readonly ArchivedMessage[]): MessageContext {
  return {
    count: log.length,
    streamSeq: log[0]!.streamSeq,
    storedAtUs: log[0]!.storedAtUs,
    firstSeq: asSeq(0),
  };
}

/** Payloads as Buffers compare equal to Uint8Arrays by their bytes alone. */
function comparable(messages: readonly ArchivedMessage[]) {
  return messages.map(({ payload, ...rest }) => ({
    ...rest,
    payload: Buffer.from(payload).toString("latin1"),
  }));
}

describe("messages as columns", () => {
  test("come back byte by byte, whether their payloads are events, nearly events, or anything", () => {
    fc.assert(
      fc.property(anyMessages, ({ messages, context }) => {
        const decoded = decodeMessages(encodeMessages(messages, context), context);
        expect(comparable(decoded)).toEqual(comparable(messages));
      }),
      { numRuns: 300 },
    );
  });

  test("of 250 tokens take at most nine bytes a token, times and places included", () => {
    const log = createLog({ generation: "gen_0_size", events: 2_000, streamStride: 200 }).slice(500, 750);
    expect(encodeMessages(log, { ...contextOf(log), firstSeq: asSeq(500) }).length).toBeLessThan(250 * 9);
  });

  test("are refused as corrupt where anything but the text was cut or changed, and never break in another way", () => {
    const log = createLog({ generation: "gen_0_cut", events: 30 });
    const bytes = encodeMessages(log, contextOf(log));
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Uint8Array.from(bytes, (byte, i) => (i === at ? byte ^ change : byte));
        for (const wrong of [bytes.subarray(0, at), changed]) expectCorruptOrMessages(wrong, log);
      }),
      { numRuns: 500 },
    );
  });

  test("are refused as corrupt when nothing but chance has made them", () => {
    const log = createLog({ generation: "gen_0_chance", events: 30 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
        expectCorruptOrMessages(Uint8Array.of(1, ...bytes), log),
      ),
    );
  });

  test("of a later format are refused", () => {
    const log = createLog({ generation: "gen_0_later", events: 10 });
    const bytes = encodeMessages(log, contextOf(log));
    bytes[0] = 2;
    expect(() => decodeMessages(bytes, contextOf(log))).toThrow(
      expect.objectContaining({ code: "archive_corrupt" }),
    );
  });

  test("that are larger than a segment may be are refused", () => {
    const payload = new Uint8Array(50_000_000);
    const log = Array.from({ length: 6 }, (_, i) => ({
      streamSeq: asStreamSeq(i + 1),
      storedAtUs: 1,
      payload,
    }));
    expect(() => encodeMessages(log, contextOf(log))).toThrow(/300000000 bytes is larger than 268435456/);
    expect(() => decodeMessages(Uint8Array.of(1), { ...contextOf(log), count: 2 ** 30 })).toThrow(
      /larger than 16777216/,
    );
    // Five more payloads that are all of the first one.
    const zeros = new Float64Array(6);
    const columns = [zeros, zeros, zeros, Float64Array.of(0, ...Array<number>(5).fill(50_000_000)), zeros];
    const lengths = Float64Array.of(50_000_000, 0, 0, 0, 0, 0);
    const content = Buffer.concat([...[...columns, lengths].map(writeColumn), payload]);
    const forged = Buffer.concat([Uint8Array.of(1), zstdCompressSync(content)]);
    expect(() => decodeMessages(forged, contextOf(log))).toThrow(/more than 268435456 bytes/);
  });

  test("with a number that no stream has are not encoded", () => {
    const message = { streamSeq: asStreamSeq(1), storedAtUs: 1, payload: new Uint8Array() };
    for (const wrong of [
      { streamSeq: asStreamSeq(-1) },
      { storedAtUs: 1.5 },
      { storedAtUs: Number.NaN },
      { streamSeq: asStreamSeq(2 ** 53) },
    ])
      expect(() => encodeMessages([{ ...message, ...wrong }], contextOf([message]))).toThrow(RangeError);
  });
});

function expectCorruptOrMessages(bytes: Uint8Array, log: readonly ArchivedMessage[]): void {
  try {
    expect(decodeMessages(bytes, contextOf(log))).toHaveLength(log.length);
  } catch (error) {
    expect(error).toMatchObject({ code: "archive_corrupt" });
  }
}
