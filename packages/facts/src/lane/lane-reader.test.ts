import type * as async from "@reprise/async";
import type * as broker from "@reprise/broker";
import type { StreamMessage } from "@reprise/broker";
import { asStreamSeq, STREAM_START } from "@reprise/protocol";
import { beforeEach, expect, test, vi } from "vitest";
import { LaneReader } from "./lane-reader.ts";

/** The reader's steps, in order, and the number of messages in its reads. */
const steps: string[] = [];
const sizes: number[] = [];
let bytesOfEach = 10;
/** The last places that the broker tells, one after the other; the last one stays. */
let lastPlaces = [0];
let stored = 0;

vi.mock("@reprise/async", async (original) => ({
  ...(await original<typeof async>()),
  pause: async () => void steps.push("pause"),
}));
vi.mock("@reprise/broker", async (original) => ({
  ...(await original<typeof broker>()),
  readStoredAtUs: async () => undefined,
  readStreamInfo: async () => ({
    created: "c",
    firstStreamSeq: 1,
    lastStreamSeq: lastPlaces.length > 1 ? lastPlaces.shift() : lastPlaces[0],
    atUs: 0,
    maxAgeUs: Infinity,
  }),
  readStreamMessages: async (): Promise<StreamMessage[]> => {
    const count = sizes.shift() ?? 0;
    steps.push(`read ${count}`);
    return Array.from({ length: count }, () => ({
      streamSeq: asStreamSeq(++stored),
      subject: "gen.0.acme.gen_1",
      payload: new Uint8Array(bytesOfEach),
      storedAtUs: stored,
    })) as StreamMessage[];
  },
}));

beforeEach(() => {
  steps.length = sizes.length = 0;
  bytesOfEach = 10;
});

async function read(reads: readonly number[]): Promise<number> {
  sizes.push(...reads);
  stored = 0;
  const maxMessages = reads.reduce((sum, count) => sum + count, 0);
  const limits = { maxMessages, maxAgeMs: 60_000, maxBytes: 1e9 };
  const start = { epoch: 0, created: "c", after: STREAM_START, sinceUs: 0 };
  const reader = new LaneReader(undefined as never, "GENERATIONS_0", start, limits);
  const { batch, error } = await reader.next(new AbortController().signal);
  expect(error).toBeUndefined();
  return batch?.messages.length ?? 0;
}

test("a read that reaches the stream's end is followed by a pause: events that come one by one are read together", async () => {
  expect(await read([1, 63, 2])).toBe(66);
  expect(steps).toEqual(["read 1", "pause", "read 63", "pause", "read 2"]);
});

test("after the end nothing pauses between reads, be they full by number or by bytes", async () => {
  expect(await read([64, 64, 5])).toBe(133);
  expect(steps).toEqual(["read 64", "read 64", "read 5"]);
  steps.length = 0;
  bytesOfEach = 60_000;
  expect(await read([17, 17, 17])).toBe(51);
  expect(steps).toEqual(["read 17", "read 17", "read 17"]);
});

test("a leader that was frozen and knows of nothing since is asked again, and no loss is told of", async () => {
  const limits = { maxMessages: 10, maxAgeMs: 60_000, maxBytes: 1e9 };
  const start = { epoch: 0, created: "c", after: asStreamSeq(7), sinceUs: 0 };
  sizes.push(0, 10);
  stored = 7;
  lastPlaces = [5, 5, 7];
  const reader = new LaneReader(undefined as never, "GENERATIONS_0", start, limits);
  const { batch, error } = await reader.next(new AbortController().signal);
  expect(error).toBeUndefined();
  expect(batch?.messages).toHaveLength(10);
});

test("a stream that still lacks what was read of it is another one, or has lost its end", async () => {
  const limits = { maxMessages: 10, maxAgeMs: 60_000, maxBytes: 1e9 };
  const start = { epoch: 0, created: "c", after: asStreamSeq(7), sinceUs: 0 };
  sizes.push(0);
  lastPlaces = [5];
  const reader = new LaneReader(undefined as never, "GENERATIONS_0", start, limits);
  const { error } = await reader.next(new AbortController().signal);
  expect(error).toMatchObject({ code: "events_lost" });
});
