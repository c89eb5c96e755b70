import { FrameBuffer } from "@reprise/stream";
import { encodeCursor, encodeSseFrame, asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dechunk } from "../../testing/http-chunks.ts";
import { encodeChunk, nativeSseFraming, unwrapChunks } from "./native-sse-framing.ts";

/** Payloads are JSON on one line; what is in it, and how many bytes its characters take, is open. */
const payloads = fc.jsonValue().map((value) => JSON.stringify(value));
const part = fc.nat(999_999_999);
const nonces = fc.option(fc.stringMatching(/^[0-9a-f]{6}$/), { nil: undefined });
const cursors = fc.record({ attempt: part, nonce: nonces, seq: part.map(asSeq) }).map(encodeCursor);
const frames = fc.array(fc.record({ cursor: cursors, payload: payloads }), { minLength: 1, maxLength: 20 });

function write(cursor: string, payload: string): { bytes: Buffer; room: number } {
  const body = Buffer.from(payload);
  const room = nativeSseFraming.maxBytes(body.length);
  const target = Buffer.alloc(room + 7, 0xff);
  const end = nativeSseFraming.write(target, 7, cursor, body);
  return { bytes: target.subarray(7, end), room };
}

describe("a frame in the hub's memory", () => {
  test("is one chunk that holds exactly the protocol's frame", () => {
    fc.assert(
      fc.property(cursors, payloads, (cursor, payload) => {
        const { bytes } = write(cursor, payload);
        expect(dechunk(bytes)).toEqual({
          body: Buffer.from(encodeSseFrame(cursor, payload)),
          complete: false,
        });
      }),
    );
  });

  test("never takes more room than was said", () => {
    fc.assert(
      fc.property(cursors, fc.integer({ min: 0, max: 70_000 }), (cursor, length) => {
        const { bytes, room } = write(cursor, "x".repeat(length));
        expect(bytes.length).toBeLessThanOrEqual(room);
      }),
      { numRuns: 50 },
    );
  });

  test("gives its payload back", () => {
    fc.assert(
      fc.property(cursors, payloads, (cursor, payload) => {
        expect(nativeSseFraming.payloadOf(write(cursor, payload).bytes).toString()).toBe(payload);
      }),
    );
  });

  test("comes out of a run of chunks as it went in, wherever the run begins and ends", () => {
    fc.assert(
      fc.property(frames, (written) => {
        const log = new FrameBuffer(nativeSseFraming, asSeq(1));
        for (const { cursor, payload } of written) log.append(cursor, Buffer.from(payload));
        const seen: string[] = [];
        for (let next = 1; next < log.nextSeq;) {
          const view = log.view(asSeq(next), 200)!;
          for (const frame of unwrapChunks(view.bytes)) seen.push(frame.toString());
          next = view.next;
        }
        expect(seen).toEqual(written.map(({ cursor, payload }) => encodeSseFrame(cursor, payload)));
      }),
    );
  });
});

test("text becomes a chunk of its length in bytes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
      expect(dechunk(Buffer.from(encodeChunk(text)))).toEqual({ body: Buffer.from(text), complete: false });
    }),
  );
});
