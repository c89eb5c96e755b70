import { join } from "node:path";
import { createFileStore } from "@reprise/archive";
import { createAnalyticsClient, openBroker } from "@reprise/broker";
import { asStreamSeq, parseTenantId } from "@reprise/protocol";
import { localFiles } from "@reprise/facts/tables";
import { createRef, createTempDir, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createIdentifiedStore } from "../facts/identity/identified-store.ts";
import { StoreIdentity } from "../facts/identity/store-identity.ts";
import { createFactStore } from "../facts/fact-store.ts";
import { DuckDbRows } from "../facts/duckdb-rows.ts";
import type { RowSource } from "../facts/row-source.ts";
import { generationRowOf } from "../testing/generation-row.ts";
import { type AnsweredQuestion, startAnswering } from "./start-answering.ts";

const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const UNTIL = "2026-11-23T18:00:00.000Z";

/** Rows that are read until their question is cancelled. */
function endlessRows() {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const rows: RowSource = {
    read: ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          ended.resolve(signal.reason);
          reject(signal.reason as Error);
        });
        begun.resolve();
      }),
    page: async () => [],
    objectsOf: async () => [],
  };
  return { rows, begun: begun.promise, ended: ended.promise };
}

const DAY = { tenant: parseTenantId("acme"), from: "2026-11-23T00:00:00Z", to: "2026-11-24T00:00:00Z" };

async function openWorld({ askAgainMs = 3_600_000 } = {}) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  const broker = stack.use(await openBroker({ url: server.url, name: "test", ...topology }));
  const folder = stack.use(await createTempDir("answering"));
  const dir = join(folder.path, "rows");
  const files = createFileStore(dir);
  const identity = new StoreIdentity({ store: files, known: async () => [] });
  const store = createIdentifiedStore(files, identity);
  const facts = createFactStore(store).lane("GENERATIONS_0");
  await facts.last();
  const last = asStreamSeq(1);
  const lane = { stream: "GENERATIONS_0", epoch: 0, created: "c", last, last_seq_stored: last, last_at: 1 };
  const rows = [generationRowOf(createRef("acme"), { atUs: NOON_US })];
  await facts.commit({ lane, rows, changed: [], closed: [] }, () => []);
  const source = stack.use(new DuckDbRows({ store, files: localFiles(dir) }));
  const told: string[] = [];
  const asked: AnsweredQuestion[] = [];
  stack.use(
    startAnswering({
      connection: broker.main,
      completeUntil: async () => UNTIL,
      askAgainMs,
      rows: source,
      keys: [],
      priceOf: () => undefined,
      onAsked: (question) => asked.push(question),
      onAnswered: () => told.push("answered"),
      onUnreadable: ({ code }) => told.push(code),
      onError: (error) => told.push(String(error)),
    }),
  );
  await broker.main.flush();
  const client = createAnalyticsClient(broker.main);
  const generations = async () => {
    const { data } = JSON.parse(await client.ask("usage", DAY)) as { data: { generations: number }[] };
    return data[0]?.generations;
  };
  const owned = stack.move();
  return { dir, store, told, asked, client, generations, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("each question is told of with its tenant, its time and its result, and nothing else of what was asked", async () => {
  await using world = await openWorld();
  const { client, asked } = world;
  const { tenant } = DAY;
  await client.ask("usage", DAY);
  await client.ask("summary", { ...DAY, tenant: null });
  await expect(client.ask("timeseries", { ...DAY, step: "1h", from: "Falcon" })).rejects.toMatchObject({
    code: "invalid_request",
  });
  await expect(client.ask("usage", { ...DAY, tenant: "*" })).rejects.toMatchObject({
    code: "invalid_request",
  });
  const ms = expect.any(Number) as number;
  expect(asked).toEqual([
    { call: "usage", tenant, ms, result: "ok" },
    { call: "summary", tenant: undefined, ms, result: "ok" },
    { call: "timeseries", tenant, ms, result: "invalid_request" },
    { call: "usage", tenant: undefined, ms, result: "invalid_request" },
  ]);
});

test("a file that can't be read is told of, beside the answer", async () => {
  await using world = await openWorld();
  await world.store.put("generations/GENERATIONS_1/000000000000.parquet", Buffer.from("PAR1 no more"));
  await expect(world.generations()).rejects.toMatchObject({ code: "archive_unavailable" });
  expect(world.told).toEqual(["archive_unavailable"]);
});

test("an answer says up to when its rows are whole, as it was known before they were read", async () => {
  await using world = await openWorld();
  const calls = ["summary", "timeseries", "generations", "budget", "usage"] as const;
  for (const call of calls)
    expect(JSON.parse(await world.client.ask(call, { ...DAY, step: "1h" }))).toMatchObject({
      complete_until: UNTIL,
    });
});

test("rows can be read again once the question that failed has an answer, asked again by itself; another one's answer shows nothing", async () => {
  await using world = await openWorld({ askAgainMs: 20 });
  const other = { ...DAY, from: "2026-11-22T00:00:00Z", to: "2026-11-23T00:00:00Z" };
  const key = "generations/GENERATIONS_1/000000000000.parquet";
  await world.store.put(key, Buffer.from("PAR1 no more"));
  await expect(world.generations()).rejects.toMatchObject({ code: "archive_unavailable" });
  await expect.poll(() => world.told.length).toBeGreaterThan(2);
  expect(world.told).not.toContain("answered");
  await world.store.delete(key);
  await expect.poll(() => world.told.at(-1)).toBe("answered");
  const told = world.told.length;
  await world.client.ask("usage", other);
  expect(world.told.slice(told)).toEqual(["answered"]);
});

test("a question whose caller hangs up is given up, and its turn is another's", async () => {
  await using server = await startTestBroker();
  await using broker = await openBroker({
    url: server.url,
    name: "test",
    shards: 1,
    replicas: 1,
    retentionMs: 3_600_000,
  });
  const { rows, begun, ended } = endlessRows();
  const ignore = () => {};
  await using _ = startAnswering({
    connection: broker.main,
    rows,
    keys: [],
    completeUntil: async () => UNTIL,
    priceOf: () => undefined,
    onAnswered: ignore,
    onUnreadable: ignore,
    onError: ignore,
  });
  await broker.main.flush();
  const client = createAnalyticsClient(broker.main);
  const gone = new AbortController();
  const asked = client.ask("usage", DAY, gone.signal);
  await begun;
  gone.abort();
  await expect(asked).rejects.toMatchObject({ code: "analytics_unavailable" });
  expect(await ended).toMatchObject({ message: expect.stringContaining("hung up") });
  expect(JSON.parse(await client.ask("generations", DAY))).toMatchObject({ data: [] });
});
