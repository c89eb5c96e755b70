import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  checkpointSubject,
  CHECKPOINTS_STREAM,
  type GenerationRef,
  parseGenerationId,
  asStreamSeq,
} from "@reprise/protocol";
import { eventually, startStoredBroker } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { storeCheckpoint } from "../append/checkpoint.ts";
import {
  connectBroker,
  HEADER,
  getLastMessage,
  purgeSubject,
  type StoredMessage,
  ensureTopology,
} from "@reprise/broker";
import { createGenerationLog } from "../read/generation-log.ts";
import { moveCheckpoints, parseTtlSeconds } from "./move-checkpoints.ts";
import { fillStream, purgeFiller, streamsWithTextOf } from "./fill-stream.ts";
import { endGeneration, purgeGeneration } from "./purge-generation.ts";
import { appendOne, completed, newRef, writeLog } from "../testing/world.ts";
import { mergeIntervals, readTextIntervals } from "./text-interval.ts";

const SECRET = "what-was-said-to-ann";
const PIECE_BYTES = 256 * 1_024;

const stack = new AsyncDisposableStack();
let world: Awaited<ReturnType<typeof open>>;
beforeAll(async () => void (world = await open()));
afterAll(() => stack.disposeAsync());

/** A broker that never syncs while a test runs: what goes from its files goes by what was asked of it. */
async function open() {
  const server = stack.use(await startStoredBroker({ syncInterval: "10m" }));
  const broker = stack.use(await connectBroker({ url: server.url, name: "test" }));
  const made = createGenerationLog(broker);
  await ensureTopology(broker.main, { shards: 2, replicas: 1, retentionMs: 3_600_000 });
  const patient: typeof made.publish = (subject, payload, options) =>
    made.publishCheckpoint(subject, payload, { timeoutMs: 60_000, ...options });
  return { server, broker, log: { ...made, publishCheckpoint: patient } };
}

/** Stores checkpoints of other generations, this many bytes in total. */
async function storeOthers(bytes: number): Promise<GenerationRef[]> {
  const refs = Array.from({ length: bytes / PIECE_BYTES }, () => newRef());
  for (const ref of refs) await storeText(ref, ref.generation);
  return refs;
}

async function storeText(ref: GenerationRef, text: string): Promise<void> {
  const payload = Buffer.alloc(PIECE_BYTES, `${text} `);
  const extra = { [HEADER.checkpointStreamSeq]: "7" };
  const outcome = await world.log.publishCheckpoint(checkpointSubject(ref), payload, { extra });
  expect(outcome.kind).toBe("stored");
}

async function readOf(ref: GenerationRef): Promise<StoredMessage & { text: string }> {
  const message = await getLastMessage(world.broker.main, CHECKPOINTS_STREAM, checkpointSubject(ref));
  return { ...message!, text: new TextDecoder().decode(message!.payload) };
}

/** The blocks of the stream of checkpoints, and whether each holds the secret. */
async function blocks(): Promise<{ name: string; holdsSecret: boolean }[]> {
  const root = world.server.storeDir;
  const paths = (await readdir(root, { recursive: true })).filter((path) =>
    new RegExp(`${CHECKPOINTS_STREAM}/msgs/\\d+\\.blk$`).test(path),
  );
  return Promise.all(
    paths.map(async (path) => {
      // The server may take it away meanwhile.
      const bytes = await readFile(join(root, path)).catch(() => Buffer.alloc(0));
      return { name: path, holdsSecret: bytes.includes(SECRET) };
    }),
  );
}

test("erased text is gone from files that were full before, and mostly of others, with the last of the filler", async () => {
  const { broker, log } = world;
  const ref = newRef();
  const before = await storeOthers(6 * 1_024 * 1_024);
  await appendOne(await writeLog(log, ref, 2), completed());
  // Three earlier checkpoints, the first in one file and the last in the next: 8 MiB are between the first and the last.
  for (let i = 0; i < 3; i++) {
    await storeText(ref, SECRET);
    before.push(...(await storeOthers(3 * 1_024 * 1_024)));
  }
  await storeText(ref, SECRET);
  before.push(...(await storeOthers(12 * 1_024 * 1_024)));
  const holding = (await blocks()).filter(({ holdsSecret }) => holdsSecret);
  expect(holding.length).toBeGreaterThanOrEqual(2);

  const target = { broker, log, ref };
  await endGeneration(target);
  await purgeGeneration(target);
  const stream = streamsWithTextOf([parseGenerationId(ref.generation)]).find(
    (one) => one.stream === CHECKPOINTS_STREAM,
  )!;
  const filled = await fillStream(target, stream);
  const moved = await moveCheckpoints(target, await readTextIntervals(broker, [ref]));
  await purgeFiller(broker, stream, filled);

  await eventually(async () => expect((await blocks()).filter(({ holdsSecret }) => holdsSecret)).toEqual([]));
  // Of all 108 others only those that may share a file with it.
  expect(moved).toBeLessThan(before.length + 1);
  for (const other of before) {
    const { text, headers } = await readOf(other);
    expect([text.length, text.slice(0, other.generation.length)]).toEqual([PIECE_BYTES, other.generation]);
    expect(headers).toContain(`${HEADER.checkpointStreamSeq}: 7`);
  }
  await expect(log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
});

test("what is moved gets no longer time than it had, however often; what has become newer meanwhile stays", async () => {
  const { broker, log } = world;
  const [ref, other] = [newRef(), newRef()];
  await purgeSubject(broker.main, CHECKPOINTS_STREAM, ">");
  await appendOne(await writeLog(log, ref, 1), completed());
  const snapshot = await log.reader.readLog(ref);
  await storeCheckpoint({ publish: log.publishCheckpoint, ref, snapshot, maxBytes: 1_000_000 });
  await storeText(other, "old");
  await purgeGeneration({ broker, log, ref });
  const stretches = await readTextIntervals(broker, [ref]);
  const stored = await readOf(other);
  const slow: typeof log.publishCheckpoint = async (subject, payload, options) => {
    if (subject === checkpointSubject(other) && options.expectedLast === stored.streamSeq)
      await storeText(other, "new");
    return log.publishCheckpoint(subject, payload, options);
  };
  await moveCheckpoints({ broker, log: { ...log, publishCheckpoint: slow } }, stretches);
  expect((await readOf(other)).text.slice(0, 4)).toBe("new ");

  await moveCheckpoints({ broker, log }, stretches);
  const { headers, time, streamSeq } = await readOf(other);
  expect(streamSeq).toBeGreaterThan(stored.streamSeq);
  const ttlS = Number(/Nats-TTL: (\d+)/.exec(headers)?.[1]);
  const expiresAtMs = Date.parse(time) + ttlS * 1_000;
  expect(expiresAtMs).toBeLessThanOrEqual(Date.parse(time) + 3_600_000);
  const movedAtMs = Date.now();
  await moveCheckpoints({ broker, log }, stretches);
  const again = await readOf(other);
  expect(again.streamSeq).toBeGreaterThan(streamSeq);
  const ttlAgainS = Number(/Nats-TTL: (\d+)/.exec(again.headers)?.[1]);
  // The store's own delay is not part of it: a busy broker stores the message later.
  expect(ttlAgainS * 1_000).toBeLessThanOrEqual(expiresAtMs - movedAtMs);
});

test("merges intervals that overlap, to the later end", () => {
  const [a, b, c] = [
    { sinceUs: 1, untilUs: 10, lastStreamSeq: asStreamSeq(5) },
    { sinceUs: 8, untilUs: 9, lastStreamSeq: asStreamSeq(4) },
    { sinceUs: 9, untilUs: 20, lastStreamSeq: asStreamSeq(9) },
  ];
  const apart = { sinceUs: 21, untilUs: 22, lastStreamSeq: asStreamSeq(12) };
  expect(mergeIntervals([apart, c, b, a])).toEqual([{ sinceUs: 1, untilUs: 20, lastStreamSeq: 9 }, apart]);
});

test.each([
  ["3600", 3_600],
  ["24h0m0s", 86_400],
  ["1m30s", 90],
  ["4s", 4],
  ["", Number.POSITIVE_INFINITY],
  ["never", Number.POSITIVE_INFINITY],
])("a TTL %s is %d s", (text, seconds) => {
  expect(parseTtlSeconds(text)).toBe(seconds);
});
