import { randomUUID } from "node:crypto";
import { purgeSubject, readStreamBatch } from "@reprise/broker";
import {
  DURABLE_STREAMS_STREAM,
  LIMITS,
  parseTenantId,
  plus,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import { createFaultyPublish, FATES, openWorld } from "@reprise/stream/testing";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Append, decideAppend, liveHead } from "./next-record.ts";
import { StreamLogs, subjectOf } from "./stream-logs.ts";
import { decodeRecord } from "./stream-record.ts";

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => void (world = await openWorld()));
afterAll(() => world[Symbol.asyncDispose]());

let nowMs = Date.parse("2026-11-29T00:00:00Z");
const newName = () => ({ tenant: parseTenantId("acme"), name: randomUUID() });
const openLogs = (publish = world.log.publish) =>
  new StreamLogs({ broker: world.broker, log: { publish, budgetMs: world.log.budgetMs }, now: () => nowMs });
const CONFIG = { type: "text/plain" };
const NEW = { config: CONFIG, data: Buffer.alloc(0), isClosed: false };

function append(
  logs: StreamLogs,
  stream: ReturnType<typeof newName>,
  text: string,
  more: Partial<Append> = {},
) {
  const asked = { type: "text/plain", data: Buffer.from(text), closes: false, ...more };
  return logs.change(stream, (head, now) => decideAppend(head, asked, now));
}

const contentOf = (logs: StreamLogs, stream: ReturnType<typeof newName>) =>
  contentAfter(logs, stream, STREAM_START);

async function contentAfter(logs: StreamLogs, stream: ReturnType<typeof newName>, offset: StreamSeq) {
  const head = await logs.readHead(stream);
  const texts: string[] = [];
  for (let after = offset; after < head!.tail;) {
    const pieces = await logs.read(stream, head!, after);
    texts.push(...pieces.map(({ data }) => Buffer.from(data).toString()));
    after = pieces.at(-1)?.at ?? head!.tail;
  }
  return texts;
}

describe("appends", () => {
  test("of a producer and of none are stored once and in order, when publishes or their answers are lost, over two nodes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.constantFrom(...FATES)),
        fc.array(fc.tuple(fc.nat(1), fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 12 }),
        async (fates, appends) => {
          const publish = createFaultyPublish(world.log.publish, () => fates.next().value);
          const nodes = [openLogs(publish), openLogs(publish)];
          const stream = newName();
          await nodes[0]!.create(stream, NEW);
          let seq = 0;
          for (const [i, [node, isProducer, isAgain]] of appends.entries()) {
            const producer = isProducer ? { id: "p", epoch: 0, seq: seq++ } : undefined;
            await append(nodes[node]!, stream, `${i} `, { producer });
            if (producer && isAgain) await append(nodes[1 - node]!, stream, `${i} `, { producer });
          }
          expect(await contentOf(nodes[0]!, stream)).toEqual(appends.map((_, i) => `${i} `));
        },
      ),
      { numRuns: 10 },
    );
  });

  test("of two nodes at once are all stored", async () => {
    const nodes = [openLogs(), openLogs()];
    const stream = newName();
    await nodes[0]!.create(stream, NEW);
    const texts = Array.from({ length: 20 }, (_, i) => `${i}`);
    await Promise.all(texts.map((text, i) => append(nodes[i % 2]!, stream, text)));
    const stored = await contentOf(nodes[0]!, stream);
    expect(stored.toSorted()).toEqual(texts.toSorted());
  });

  test("are refused by what the log has, not by what a node remembers", async () => {
    const [one, two] = [openLogs(), openLogs()];
    const stream = newName();
    await one.create(stream, NEW);
    await append(two, stream, "a", { producer: { id: "p", epoch: 0, seq: 0 } });
    expect(await append(one, stream, "b", { producer: { id: "p", epoch: 0, seq: 1 } })).toMatchObject({
      kind: "stored",
    });
    await two.remove(stream);
    expect(await append(one, stream, "c")).toMatchObject({ error: { code: "stream_not_found" } });
    await two.create(stream, NEW);
    expect(await append(one, stream, "d", { producer: { id: "p", epoch: 0, seq: 0 } })).toMatchObject({
      kind: "stored",
    });
    expect(await contentOf(one, stream)).toEqual(["d"]);
  });

  test("end when a stream has its most bytes, but it can be closed", async () => {
    const logs = openLogs();
    const stream = newName();
    await logs.create(stream, NEW);
    const text = "x".repeat(LIMITS.bodyBytes);
    for (let bytes = 0; bytes < LIMITS.outputTotalBytes; bytes += text.length)
      expect(await append(logs, stream, text)).toMatchObject({ kind: "stored" });
    expect(await append(logs, stream, "x")).toMatchObject({
      error: { code: "limit_exceeded", param: "stream.total_bytes", retryable: false },
    });
    expect(await append(logs, stream, "", { closes: true })).toMatchObject({ kind: "stored" });
    expect((await contentOf(logs, stream)).every((one) => one === text)).toBe(true);
  });
});

describe("a stream", () => {
  test("with a TTL is gone that long after its last read or write, and can be created again", async () => {
    const logs = openLogs();
    const stream = newName();
    const live = async () => liveHead(await logs.readHead(stream), nowMs);
    await logs.create(stream, { ...NEW, config: { ...CONFIG, ttlSeconds: 10 } });
    nowMs += 9_999;
    await append(logs, stream, "a");
    nowMs += 9_999;
    await logs.touch(stream, (await live())!);
    nowMs += 9_999;
    expect(await live()).toBeDefined();
    nowMs += 1;
    expect(await live()).toBeUndefined();
    expect(await append(logs, stream, "b")).toMatchObject({ error: { code: "stream_not_found" } });
    expect(await logs.create(stream, NEW)).toMatchObject({ kind: "stored" });
    expect(await contentOf(logs, stream)).toEqual([]);
    nowMs += 1_000_000;
    expect(await live()).toBeDefined();
  });

  test("stores that it was read ten times in its TTL at most", async () => {
    const logs = openLogs();
    const stream = newName();
    await logs.create(stream, { ...NEW, config: { ...CONFIG, ttlSeconds: 10 } });
    const head = (await logs.readHead(stream))!;
    nowMs += 999;
    expect((await logs.touch(stream, head)).at).toBe(head.at);
    nowMs += 1;
    expect((await logs.touch(stream, head)).at).toBeGreaterThan(head.at);
  });

  test("expires at its time", async () => {
    const logs = openLogs();
    const stream = newName();
    const expiresAt = new Date(nowMs + 1_000).toISOString();
    await logs.create(stream, { ...NEW, config: { ...CONFIG, expiresAt } });
    nowMs += 999;
    expect(liveHead(await logs.readHead(stream), nowMs)).toBeDefined();
    nowMs += 1;
    expect(liveHead(await logs.readHead(stream), nowMs)).toBeUndefined();
  });

  test("whose records have all expired is gone, also at a node that has written it", async () => {
    const logs = openLogs();
    const stream = newName();
    await logs.create(stream, NEW);
    await append(logs, stream, "a");
    const { at } = (await logs.readHead(stream))!;
    await purgeSubject(world.broker.reads, DURABLE_STREAMS_STREAM, subjectOf(stream), at);
    const head = (await logs.readHead(stream))!;
    await expect(logs.read(stream, head, STREAM_START)).rejects.toMatchObject({ code: "cursor_expired" });
    expect(await contentAfter(logs, stream, at)).toEqual([]);
    await purgeSubject(world.broker.reads, DURABLE_STREAMS_STREAM, subjectOf(stream));
    expect(await append(logs, stream, "b")).toMatchObject({ error: { code: "stream_not_found" } });
    expect(await logs.create(stream, NEW)).toMatchObject({ kind: "stored" });
  });

  test("that was deleted leaves none of its content in the broker, and no offset of it reads another stream", async () => {
    const logs = openLogs();
    const stream = newName();
    await logs.create(stream, NEW);
    await append(logs, stream, "old");
    const old = (await logs.readHead(stream))!;
    await logs.remove(stream);
    const request = {
      subject: subjectOf(stream),
      afterStreamSeq: STREAM_START,
      maxMessages: 9,
      maxBytes: 9_999,
    };
    const left = await readStreamBatch(world.broker.reads, DURABLE_STREAMS_STREAM, request);
    expect(left.messages.map(({ payload }) => decodeRecord(payload).kind)).toEqual(["delete"]);
    await expect(logs.read(stream, old, STREAM_START)).rejects.toMatchObject({ code: "stream_not_found" });
    await logs.create(stream, NEW);
    await append(logs, stream, "new");
    const head = (await logs.readHead(stream))!;
    await expect(logs.read(stream, head, old.tail)).rejects.toMatchObject({ code: "cursor_expired" });
    await expect(logs.read(stream, head, plus(head.tail, 1))).rejects.toMatchObject({
      code: "cursor_invalid",
    });
    expect(await contentOf(logs, stream)).toEqual(["new"]);
  });
});

test("a tenant's reads do not hold up another tenant's", async () => {
  const logs = openLogs();
  const stream = newName();
  await logs.create(stream, { ...NEW, data: Buffer.alloc(LIMITS.bodyBytes) });
  const head = (await logs.readHead(stream))!;
  const READS = 100;
  let finished = 0;
  const readAll = Array.from({ length: READS }, async () => {
    await logs.read(stream, head, STREAM_START);
    finished++;
  });
  await logs.readHead({ ...newName(), tenant: parseTenantId("beta") });
  expect(finished).toBeLessThan(READS / 2);
  await Promise.all(readAll);
});
