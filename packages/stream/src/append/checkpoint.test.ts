import { encodeEvent, asStreamSeq, asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeCheckpoint } from "../read/decode-checkpoint.ts";
import { createCheckpointer, isDue } from "./checkpoint.ts";
import { HEADER, type Publish } from "@reprise/broker";
import type { LogSnapshot } from "../read/stored-event.ts";
import { encodeCheckpoint, delta, newRef } from "../testing/world.ts";

const EVENT_0 = '{"seq":0,"type":"x"}';
const EMPTY: LogSnapshot = { events: [], streamSeq: asStreamSeq(0) };

function payloadsOf(texts: readonly string[]): Uint8Array[] {
  return texts.map((text, seq) => encodeEvent(asSeq(seq), delta(text)));
}

function sizeOf(payloads: readonly Uint8Array[]): number {
  return payloads.reduce((sum, payload) => sum + payload.length + 1, 0);
}

/** A checkpointer on an empty log that keeps what it writes in `written`. */
function recordingCheckpointer(maxBytes = 1_000_000) {
  const written: LogSnapshot[] = [];
  const publish: Publish = async (_subject, payload, { extra }) => {
    written.push(decodeCheckpoint(payload, extra?.[HEADER.checkpointStreamSeq])!);
    return { kind: "stored", streamSeq: asStreamSeq(written.length), duplicate: false };
  };
  return {
    written,
    checkpointer: createCheckpointer({ publish, ref: newRef(), snapshot: EMPTY, maxBytes, now: 0 }),
  };
}

describe("the form of a checkpoint", () => {
  test("decodes what it encodes, for any text", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }), { minLength: 1 }),
        fc.integer({ min: 1 }),
        (texts, streamSeq) => {
          const payloads = payloadsOf(texts);
          const decoded = decodeCheckpoint(encodeCheckpoint(payloads), `${streamSeq}`)!;
          expect(decoded.streamSeq).toBe(streamSeq);
          expect(decoded.events.map((event) => Buffer.from(event).toString())).toEqual(
            payloads.map((payload) => Buffer.from(payload).toString()),
          );
        },
      ),
    );
  });

  test.each([
    ["without a stream sequence", `${EVENT_0}\n`, undefined],
    ["with an empty stream sequence", `${EVENT_0}\n`, ""],
    ["with a stream sequence that is no number", `${EVENT_0}\n`, "x"],
    ["with a stream sequence of 0", `${EVENT_0}\n`, "0"],
    ["without an end", EVENT_0, "5"],
    ["without events", "", "5"],
    ["with an empty line", `${EVENT_0}\n\n`, "5"],
    ["with a hole", `${EVENT_0}\n{"seq":2,"type":"x"}\n`, "5"],
    ["with something else than events", "{}\n", "5"],
  ])("a message %s is damaged", (_, message, streamSeq) => {
    expect(decodeCheckpoint(Buffer.from(message), streamSeq)).toBeUndefined();
  });

  test("the decoded events do not share memory with the message", () => {
    const message = Buffer.from(`${EVENT_0}\n`);
    const { events } = decodeCheckpoint(message, "1")!;
    message.fill(0);
    expect(Buffer.from(events[0]!).toString()).toBe(EVENT_0);
  });
});

describe("when a checkpoint is due", () => {
  test("a small one every 64 events or 2 s", () => {
    const small = { unwrittenBytes: 100, bytes: 16_000 };
    expect(isDue({ ...small, unwritten: 63, sinceMs: 1_999 })).toBe(false);
    expect(isDue({ ...small, unwritten: 64, sinceMs: 0 })).toBe(true);
    expect(isDue({ ...small, unwritten: 1, sinceMs: 2_000 })).toBe(true);
  });

  test("a big one only once the log has grown by a quarter", () => {
    const big = { unwritten: 1_000, sinceMs: 60_000, bytes: 800_000 };
    expect(isDue({ ...big, unwrittenBytes: 199_999 })).toBe(false);
    expect(isDue({ ...big, unwrittenBytes: 200_000 })).toBe(true);
  });

  test("all checkpoints of a long log together stay below six times the log, beside the small ones", async () => {
    const { written, checkpointer } = recordingCheckpointer(100_000_000);
    const payloads = payloadsOf(Array.from({ length: 20_000 }, () => "x".repeat(50)));
    payloads.forEach((payload, i) => checkpointer.add(payload, asStreamSeq(i + 1), 0));
    await checkpointer.flush();
    const total = written.reduce((sum, { events }) => sum + sizeOf(events), 0);
    expect(total).toBeLessThan(6 * sizeOf(payloads) + 16 * 1_024 * 4);
  });
});

describe("a checkpointer", () => {
  test("writes prefixes of the log, and flush completes the last one", async () => {
    const { written, checkpointer } = recordingCheckpointer();
    const payloads = payloadsOf(Array.from({ length: 150 }, (_, i) => `${i}`));
    payloads.forEach((payload, i) => checkpointer.add(payload, asStreamSeq((i + 1) * 10), 0));
    await checkpointer.flush();
    expect(written.map(({ events, streamSeq }) => [events.length, streamSeq])).toEqual([
      [64, 640],
      [128, 1_280],
      [150, 1_500],
    ]);
    expect(written.at(-1)!.events.map((event) => Buffer.from(event).toString())).toEqual(
      payloads.map((payload) => Buffer.from(payload).toString()),
    );
  });

  test("writes what waits after 2 s even if nothing is added", () => {
    const { written, checkpointer } = recordingCheckpointer();
    checkpointer.add(payloadsOf(["a"])[0]!, asStreamSeq(7), 100);
    checkpointer.tick(1_999);
    expect(written).toEqual([]);
    checkpointer.tick(2_000);
    expect(written.map(({ streamSeq }) => streamSeq)).toEqual([7]);
    checkpointer.tick(10_000);
    expect(written).toHaveLength(1);
  });

  test("that can't be published is let go of: the log has it all", async () => {
    const publish: Publish = () => Promise.reject(new Error("larger than max_payload"));
    const options = { publish, ref: newRef(), snapshot: EMPTY, maxBytes: 1_000, now: 0 };
    const checkpointer = createCheckpointer(options);
    checkpointer.add(payloadsOf(["a"])[0]!, asStreamSeq(1), 5_000);
    await expect(checkpointer.flush()).resolves.toBeUndefined();
  });

  test("flushes nothing when everything is written", async () => {
    const { written, checkpointer } = recordingCheckpointer();
    await checkpointer.flush();
    expect(written).toEqual([]);
  });

  test("stops writing once the log is larger than a message may be", async () => {
    const { written, checkpointer } = recordingCheckpointer(1_000);
    const payloads = payloadsOf(Array.from({ length: 200 }, () => "0123456789"));
    payloads.forEach((payload, i) => checkpointer.add(payload, asStreamSeq(i + 1), i * 1_000));
    await checkpointer.flush();
    expect(written.length).toBeGreaterThan(0);
    expect(sizeOf(written.at(-1)!.events)).toBeLessThanOrEqual(1_000);
  });

  test("keeps the first event, and nothing else, once the log is larger than a message may be", () => {
    const payloads = payloadsOf(["a", "b".repeat(500), "c".repeat(500)]);
    const { checkpointer } = recordingCheckpointer(900);
    const firsts = payloads.map((payload, i) => {
      checkpointer.add(payload, asStreamSeq(i + 1), 0);
      return Buffer.from(checkpointer.first());
    });
    expect(firsts).toEqual(payloads.map(() => Buffer.from(payloads[0]!)));
    expect(checkpointer.events()).toBeUndefined();
    expect(checkpointer.first().buffer.byteLength).toBeLessThan(500);
  });

  test("continues from the log that it was given", async () => {
    const written: LogSnapshot[] = [];
    const publish: Publish = async (_subject, payload, { extra }) => {
      written.push(decodeCheckpoint(payload, extra?.[HEADER.checkpointStreamSeq])!);
      return { kind: "stored", streamSeq: asStreamSeq(1), duplicate: false };
    };
    const [first, second] = payloadsOf(["a", "b"]);
    const snapshot = { events: [first!], streamSeq: asStreamSeq(3) };
    const checkpointer = createCheckpointer({ publish, ref: newRef(), snapshot, maxBytes: 1_000, now: 0 });
    checkpointer.add(second!, asStreamSeq(4), 0);
    await checkpointer.flush();
    expect(written.map(({ events, streamSeq }) => [events.length, streamSeq])).toEqual([[2, 4]]);
  });
});

test("a large request is copied once: there is room after it for the first events", async () => {
  const request = encodeEvent(asSeq(0), delta("x".repeat(1_000_000)));
  const publish: Publish = async () => ({ kind: "stored", streamSeq: asStreamSeq(1), duplicate: false });
  const snapshot = { events: [request], streamSeq: asStreamSeq(1) };
  const checkpointer = createCheckpointer({ publish, ref: newRef(), snapshot, maxBytes: 1 << 21, now: 0 });
  const { buffer } = checkpointer.first();
  for (let seq = 1; seq <= 10; seq++)
    checkpointer.add(encodeEvent(asSeq(seq), delta("token")), asStreamSeq(seq + 1), 0);
  expect(checkpointer.first().buffer === buffer).toBe(true);
  expect(buffer.byteLength).toBeLessThan(1.1 * request.length);
});
