import { localFiles } from "@reprise/facts/tables";
import { createLogger, createMetrics } from "@reprise/runtime";
import {
  asSeq,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  OPS_STREAM,
  type OpsRecord,
  parseNodeId,
} from "@reprise/protocol";
import {
  completed,
  createRef,
  createTempDir,
  delta,
  PATIENCE_MS,
  requested,
  started,
} from "@reprise/testkit";
import { createFileStore } from "@reprise/archive";
import { expect, test } from "vitest";
import { DuckDbRows } from "./facts/duckdb-rows.ts";
import { startAnalytics } from "./service.ts";
import { type LaneWorld, openLaneWorld } from "./testing/lane-world.ts";

const STREAM = "GENERATIONS_0";
const WHOLE = (ref: GenerationRef) => [requested(ref), started(), delta("a"), completed()];

async function append(world: LaneWorld, ref: GenerationRef, fromSeq: number, drafts: readonly EventDraft[]) {
  for (const [i, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(fromSeq + i), draft));
}

/** A platform whose logs expire within a minute, and analytics that can be stopped and started. */
async function openPlatform() {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openLaneWorld({ retentionMs: 60_000 }));
  const dir = stack.use(await createTempDir("losses")).path;
  const store = createFileStore(dir);
  const metrics = createMetrics({ processMetrics: false });
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const start = () =>
    startAnalytics({
      broker: world.broker,
      shards: 1,
      store,
      openRows: async () => new DuckDbRows({ store, files: localFiles(dir) }),
      keys: [],
      limits: { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 },
      logger: createLogger({ service: "analytics", destination }),
      metrics,
    });
  const lost = async () => {
    const found = (await metrics.render()).matchAll(/^reprise_analytics_lost_total\{what="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, what, count]) => [what, Number(count)]));
  };
  const rows = async () => Number(/_rows_total (\d+)/.exec(await metrics.render())?.[1] ?? 0);
  const owned = stack.move();
  return { world, lines, start, lost, rows, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const linesOf = (lines: readonly Record<string, unknown>[]) =>
  lines.filter(({ msg }) => String(msg).includes("expired before analytics read them"));

test("logs that expire while analytics is away are counted, and told of with their places and the generations that lack a part", async () => {
  await using platform = await openPlatform();
  const { world, start, lost, lines, rows } = platform;
  const [before, whole, cut, headless, after] = [
    createRef(),
    createRef(),
    createRef(),
    createRef(),
    createRef(),
  ];
  {
    await using _ = await start();
    await append(world, before, 0, WHOLE(before));
    await append(world, cut, 0, [requested(cut), started()]);
    await expect.poll(rows).toBe(1);
    expect(await lost()).toEqual({ events: 0, generations: 0, records: 0 });
  }
  await append(world, whole, 0, WHOLE(whole));
  await append(world, headless, 0, [requested(headless), started()]);
  await append(world, cut, 2, [delta("b")]);
  await world.purgeBefore(14);
  await append(world, headless, 2, [delta("a"), completed()]);
  await append(world, cut, 3, [completed()]);
  await append(world, after, 0, WHOLE(after));
  await using _ = await start();
  await expect.poll(rows).toBe(3);
  expect(await lost()).toEqual({ events: 7, generations: 2, records: 0 });
  const [line, ...others] = linesOf(lines);
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    level: "error",
    stream: STREAM,
    messages: 7,
    gaps: [[7, 13]],
    generations: 2,
    incomplete: expect.arrayContaining([headless, cut]),
    after: expect.stringMatching(/^\d{4}-/),
    before: expect.stringMatching(/^\d{4}-/),
  });
});

test("what is erased is no loss: a log that lacks all but its end counts as none without an expiry", async () => {
  await using platform = await openPlatform();
  const { world, start, lost, lines, rows } = platform;
  await using _ = await start();
  const [erased, next] = [createRef(), createRef()];
  await append(world, erased, 3, [completed()]);
  await append(world, next, 0, WHOLE(next));
  await expect.poll(rows).toBe(1);
  expect(await lost()).toEqual({ events: 0, generations: 0, records: 0 });
  expect(linesOf(lines)).toEqual([]);
});

test("records of deliveries that expire unread are counted, and told of", async () => {
  await using platform = await openPlatform();
  const { world, start, lost, lines } = platform;
  const ref = createRef();
  const record: OpsRecord = {
    kind: "delivered",
    at: "2026-11-23T12:00:00.000Z",
    node: parseNodeId("node"),
    readers: [],
  };
  for (let i = 0; i < 3; i++) await world.record(ref, record);
  const { main } = world.broker;
  const purge = JSON.stringify({ seq: 3 });
  await main.request(`$JS.API.STREAM.PURGE.${OPS_STREAM}`, purge, { timeout: PATIENCE_MS });
  await using _ = await start();
  await expect.poll(async () => (await lost())["records"]).toBe(2);
  expect(linesOf(lines)).toMatchObject([{ level: "error", stream: OPS_STREAM, messages: 2, gaps: [[1, 2]] }]);
});
