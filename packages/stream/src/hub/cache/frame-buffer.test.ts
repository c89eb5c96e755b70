import { asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameBuffer } from "./frame-buffer.ts";
import { plainFraming } from "../../testing/plain-framing.ts";

const anyPayload = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 100_000 })),
    fc.integer({ min: 32, max: 126 }),
  )
  .map(([length, byte]) => Buffer.alloc(length, byte));
const anyPayloads = fc.array(anyPayload, { minLength: 1, maxLength: 120 });
const anyFirstSeq = fc.integer({ min: 1, max: 1_000_000 });

function cursorOf(seq: number): string {
  return `1-${seq}`;
}

function frameOf(seq: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${cursorOf(seq)}\n`), payload, Buffer.from("\n")]);
}

function logOf(firstSeq: number, payloads: readonly Uint8Array[]): FrameBuffer {
  const log = new FrameBuffer(plainFraming, asSeq(firstSeq));
  payloads.forEach((payload, i) => log.append(cursorOf(firstSeq + i), payload));
  return log;
}

describe("FrameBuffer", () => {
  test("views of any limits, joined, are all frames in order", () => {
    fc.assert(
      fc.property(
        anyFirstSeq,
        anyPayloads,
        fc.infiniteStream(fc.integer({ min: 0, max: 80_000 })),
        (firstSeq, payloads, limits) => {
          const log = logOf(firstSeq, payloads);
          const views: Buffer[] = [];
          for (let seq = firstSeq; seq < log.nextSeq;) {
            const view = log.view(asSeq(seq), limits.next().value)!;
            expect(view.next).toBeGreaterThan(seq);
            views.push(view.bytes);
            seq = view.next;
          }
          expect(log.nextSeq).toBe(firstSeq + payloads.length);
          expect(
            Buffer.concat(views).equals(
              Buffer.concat(payloads.map((payload, i) => frameOf(firstSeq + i, payload))),
            ),
          ).toBe(true);
        },
      ),
    );
  });

  test("a view holds one frame at the least, and otherwise no more than its limit", () => {
    fc.assert(
      fc.property(anyPayloads, fc.nat(), fc.integer({ min: 0, max: 80_000 }), (payloads, index, maxBytes) => {
        const log = logOf(1, payloads);
        const seq = 1 + (index % payloads.length);
        const { bytes, next } = log.view(asSeq(seq), maxBytes)!;
        const alone = frameOf(seq, payloads[seq - 1]!).length;
        expect(next === seq + 1 ? bytes.length : 0).toBe(next === seq + 1 ? alone : 0);
        expect(bytes.length).toBeLessThanOrEqual(Math.max(alone, maxBytes));
      }),
    );
  });

  test("a view that was taken before more was appended still holds the same bytes", () => {
    fc.assert(
      fc.property(anyPayloads, anyPayloads, (before, after) => {
        const log = logOf(1, before);
        const { bytes } = log.view(asSeq(1), 1_000_000)!;
        const copy = Buffer.from(bytes);
        after.forEach((payload, i) => log.append(cursorOf(before.length + 1 + i), payload));
        expect(bytes.equals(copy)).toBe(true);
      }),
    );
  });

  test("a view at the newest event grows with the log", () => {
    const log = logOf(1, [Buffer.from("a")]);
    expect(log.view(asSeq(1), 1_000)!.next).toBe(2);
    log.append(cursorOf(2), Buffer.from("b"));
    expect(log.view(asSeq(1), 1_000)!.next).toBe(3);
    expect(log.view(asSeq(1), 1_000)!.bytes.toString()).toBe("1-1\na\n1-2\nb\n");
  });

  test("readers at the same place share one view", () => {
    const log = logOf(1, [Buffer.from("a"), Buffer.from("b")]);
    expect(log.view(asSeq(1), 100)!.bytes).toBe(log.view(asSeq(1), 100)!.bytes);
  });

  test("trimming forgets the oldest frames, keeps the newest, and what is kept is unchanged", () => {
    fc.assert(
      fc.property(anyPayloads, fc.integer({ min: 0, max: 500_000 }), (payloads, maxBytes) => {
        const log = logOf(1, payloads);
        const before = log.bytes;
        log.trim(maxBytes);
        expect(log.bytes).toBeLessThanOrEqual(before);
        expect(log.nextSeq).toBe(payloads.length + 1);
        expect(log.firstSeq).toBeLessThan(log.nextSeq);
        expect(log.view(asSeq(log.firstSeq - 1), 0)).toBeUndefined();
        for (let seq = log.firstSeq; seq < log.nextSeq; seq++) {
          expect(log.payloadAt(seq)!.equals(payloads[seq - 1]!)).toBe(true);
        }
      }),
    );
  });

  test("trimming to a size leaves that size or a single slab", () => {
    const log = logOf(
      1,
      Array.from({ length: 1_000 }, () => Buffer.alloc(1_000, "x")),
    );
    log.trim(200_000);
    expect(log.bytes).toBeLessThanOrEqual(200_000);
    log.trim(0);
    expect(log.bytes).toBeLessThanOrEqual(64 * 1_024);
    expect(log.payloadAt(asSeq(1_000))!.length).toBe(1_000);
  });

  test("a trimmed log continues where it was", () => {
    const log = logOf(
      1,
      Array.from({ length: 500 }, () => Buffer.alloc(1_000, "x")),
    );
    log.trim(0);
    log.append(cursorOf(501), Buffer.from("next"));
    expect(log.payloadAt(asSeq(501))!.toString()).toBe("next");
  });

  test("the memory it counts is the memory it holds", () => {
    fc.assert(
      fc.property(anyPayloads, (payloads) => {
        const log = logOf(1, payloads);
        const buffers = new Set(payloads.map((_, i) => log.view(asSeq(1 + i), 0)!.bytes.buffer));
        expect(log.bytes).toBe([...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0));
      }),
    );
  });

  test("what was not appended yet, and what is before the first event, is undefined", () => {
    const log = logOf(5, [Buffer.from("a")]);
    expect([
      log.view(asSeq(4), 10),
      log.view(asSeq(6), 10),
      log.payloadAt(asSeq(4)),
      log.payloadAt(asSeq(6)),
    ]).toEqual(Array(4).fill(undefined));
    expect(new FrameBuffer(plainFraming, asSeq(1)).view(asSeq(1), 10)).toBeUndefined();
  });

  test("shows nothing beyond a limit, and one view to all readers at a place under the same limit", () => {
    const log = logOf(
      1,
      [1, 2, 3, 4].map((byte) => Buffer.alloc(10, byte)),
    );
    const view = log.view(asSeq(1), 1_000, asSeq(2))!;
    expect(view.next).toBe(3);
    expect(log.view(asSeq(1), 1_000, asSeq(2))).toBe(view);
    expect(log.view(asSeq(3), 1_000, asSeq(2))).toBeUndefined();
    expect(log.view(asSeq(1), 1_000, asSeq(3))!.next).toBe(4);
    expect(log.view(asSeq(1), 1_000)!.next).toBe(5);
  });

  test("replaces events of any size, and leaves the others, and views that were handed out, as they were", () => {
    fc.assert(
      fc.property(anyPayloads, fc.nat(130), fc.nat(130), anyPayload, (payloads, from, to, replacement) => {
        const log = logOf(1, payloads);
        const whole = log.view(asSeq(1), 0)!.bytes;
        const before = whole.toString("latin1");
        log.replace(asSeq(from), asSeq(to), (seq) => ({ cursor: cursorOf(seq), payload: replacement }));
        const expected = payloads.map((payload, i) => (i + 1 >= from && i + 1 <= to ? replacement : payload));
        expected.forEach((payload, i) => expect(log.payloadAt(asSeq(i + 1))!.equals(payload)).toBe(true));
        log.append(cursorOf(payloads.length + 1), replacement);
        expect(log.payloadAt(asSeq(payloads.length + 1))!.equals(replacement)).toBe(true);
        expect(whole.toString("latin1")).toBe(before);
        log.trim(0);
        expect(log.bytes).toBe(logBytes(log, payloads.length + 1));
      }),
      { numRuns: 60 },
    );
  });
});

/** Bytes of a log that has dropped all slabs but the newest: a slab is at least as large as its contents. */
function logBytes(log: FrameBuffer, lastSeq: number): number {
  const { bytes } = log.view(log.firstSeq, Infinity)!;
  expect(log.view(log.firstSeq, Infinity)!.next).toBe(lastSeq + 1);
  return bytes.buffer.byteLength;
}
