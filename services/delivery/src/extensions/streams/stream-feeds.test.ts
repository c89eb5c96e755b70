import { randomUUID } from "node:crypto";
import { parseTenantId } from "@reprise/protocol";
import { openWorld } from "@reprise/stream/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decideAppend } from "./next-record.ts";
import { StreamFeeds } from "./stream-feeds.ts";
import { StreamLogs } from "./stream-logs.ts";

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => void (world = await openWorld()));
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world[Symbol.asyncDispose]();
});

const onError = (error: unknown) => void world.errors.push(error);
/** A wait that only a head ends before the test is over. */
const LONG = { ms: 600_000, signal: new AbortController().signal };

async function openStream() {
  const logs = new StreamLogs({ ...world, now: () => 0 });
  const stream = { tenant: parseTenantId("acme"), name: randomUUID() };
  const config = { type: "text/plain" };
  await logs.create(stream, { config, data: Buffer.alloc(0), isClosed: false });
  const append = (text: string) =>
    logs.change(stream, (head, nowMs) =>
      decideAppend(head, { type: config.type, data: Buffer.from(text), closes: false }, nowMs),
    );
  return { logs, stream, append, head: (await logs.readHead(stream))! };
}

test("all readers of a stream wake at an append, and get it from one subscription", async () => {
  const { stream, append, head } = await openStream();
  const before = world.broker.main.stats().inMsgs;
  const feeds = new StreamFeeds({ broker: world.broker, onError });
  const readers = Array.from({ length: 50 }, () => feeds.open(stream));
  await Promise.all(readers.map(({ ready }) => ready));
  readers[0]!.saw(head);
  const woken = readers.map((reader) => reader.waitAfter(head.at, LONG));
  await append("a");
  const [first, ...others] = await Promise.all(woken);
  expect(others).toEqual(others.map(() => first));
  const texts = readers.map((one) =>
    one.piecesAfter(head.tail, first!)?.map(({ data }) => Buffer.from(data).toString()),
  );
  expect(texts).toEqual(readers.map(() => ["a"]));
  expect(feeds.followed).toBe(1);
  // The append's answer, and the record.
  expect(world.broker.main.stats().inMsgs - before).toBeLessThan(readers.length);
  for (const reader of readers) reader[Symbol.dispose]();
  expect(feeds.followed).toBe(0);
});

test("a reader wakes at a record that the live feed has lost", async () => {
  const { stream, append, head } = await openStream();
  const mute = {
    subscribe: () => ({ unsubscribe: () => {} }),
    flush: async () => {},
    isClosed: () => false,
    status: () => [],
  };
  const feeds = new StreamFeeds({ broker: { ...world.broker, main: mute as never }, onError });
  using reader = feeds.open(stream);
  reader.saw(head);
  await append("a");
  expect((await reader.waitAfter(head.at, LONG))?.tail).toBeGreaterThan(head.tail);
});

test("a feed keeps the last pieces alone: what came before them is read from the log", async () => {
  const { logs, stream, append, head } = await openStream();
  const feeds = new StreamFeeds({ broker: world.broker, onError });
  using reader = feeds.open(stream);
  await reader.ready;
  reader.saw(head);
  const part = "x".repeat(100_000);
  let last = head;
  for (let i = 0; i < 5; i++) {
    await append(part);
    last = (await reader.waitAfter(last.at, LONG))!;
  }
  expect(reader.piecesAfter(head.tail, last)).toBeUndefined();
  const pieces = await logs.read(stream, last, head.tail);
  expect(pieces).toHaveLength(5);
  expect(reader.piecesAfter(pieces[2]!.at, last)).toEqual(pieces.slice(3));
});
