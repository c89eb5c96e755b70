import { asStreamSeq, asSeq } from "@reprise/protocol";
import { createHash, randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog } from "../testing/events.ts";
import { draftOf, sealLog, testKey } from "../testing/segments.ts";
import { leafHashOf, openSegment, sealSegment } from "./segment.ts";
import { encodeSegmentHeader, type Segment, segmentHeaderSchema } from "./segment-header.ts";

const generation = "gen_0_test";
const log = createLog({ generation, events: 60 });
const key = testKey(generation);
const corrupt = expect.objectContaining({ code: "archive_corrupt" });

function sealed(): Segment {
  return sealLog(log, { generation, size: 60 })[0]!;
}

describe("a sealed segment", () => {
  test("gives its messages back with the key", () => {
    const segment = sealSegment(draftOf(log), log, key, (size) => randomBytes(size));
    expect(openSegment(segment, key).map(({ payload }) => Buffer.from(payload).toString())).toEqual(
      log.map(({ payload }) => Buffer.from(payload).toString()),
    );
    expect(segmentHeaderSchema.parse(segment.header)).toEqual(segment.header);
  });

  test("shows nothing of the text, and never the same bytes twice", () => {
    const [one, other] = [1, 2].map(() => sealSegment(draftOf(log), log, key, (size) => randomBytes(size)));
    expect(Buffer.from(one!.sealed).includes("river")).toBe(false);
    expect(Buffer.compare(one!.sealed, other!.sealed)).not.toBe(0);
  });

  test("is refused with any bit of it flipped", () => {
    const segment = sealed();
    fc.assert(
      fc.property(fc.nat(segment.sealed.length * 8 - 1), (bit) => {
        const flipped = Uint8Array.from(segment.sealed);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        expect(() => openSegment({ ...segment, sealed: flipped }, key)).toThrow(corrupt);
      }),
    );
  });

  test("is refused cut at any place", () => {
    const segment = sealed();
    fc.assert(
      fc.property(fc.nat(segment.sealed.length - 1), (length) => {
        const cut = segment.sealed.subarray(0, length);
        expect(() => openSegment({ ...segment, sealed: cut }, key)).toThrow(corrupt);
      }),
    );
  });

  test("is refused with any field of its header changed, or the header of another", () => {
    const segment = sealed();
    const { header } = segment;
    const changes: Partial<typeof header>[] = [
      { tenant: "other" },
      { generation: "gen_0_other" },
      { stream: "GENERATIONS_1" },
      { epoch: 1 },
      { first_stream_seq: asStreamSeq(header.first_stream_seq + 1) },
      { first_seq: asSeq(1), last_seq: asSeq(header.last_seq + 1) },
      { first_at: header.first_at + 1 },
      { status: "failed" },
      { messages_root: "00".repeat(32) },
      { tags: [] },
      { kid: "other" },
      { nonce: "ff".repeat(12) },
      { nonce: "" },
    ];
    for (const change of changes)
      expect(() => openSegment({ ...segment, header: { ...header, ...change } }, key)).toThrow(corrupt);
  });

  test("is refused with another key, before anything is decrypted", () => {
    const segment = sealed();
    expect(() => openSegment(segment, testKey("another"))).toThrow(/key is not the one/);
    expect(() => openSegment({ ...segment, sealed: new Uint8Array() }, testKey("another"))).toThrow(
      /key is not the one/,
    );
  });

  test("is not made from a header that is not its messages'", () => {
    const seal = (given: Parameters<typeof draftOf>[1]) => () =>
      sealSegment(draftOf(log, given), log, key, (size) => randomBytes(size));
    expect(seal({ events: 59 })).toThrow(RangeError);
    expect(seal({ first_stream_seq: asStreamSeq(2) })).toThrow(RangeError);
    expect(seal({ last_stream_seq: asStreamSeq(59) })).toThrow(RangeError);
  });
});

describe("a segment's leaf", () => {
  test("is the SHA-256 of a zero, the header's length, the header and what is sealed", () => {
    const segment = sealed();
    const header = encodeSegmentHeader(segment.header);
    const data = [Uint8Array.of(0, 0, 0, header.length >> 8, header.length & 255), header, segment.sealed];
    const expected = createHash("sha256").update(Buffer.concat(data)).digest("hex");
    expect(Buffer.from(leafHashOf(segment)).toString("hex")).toBe(expected);
  });
});
