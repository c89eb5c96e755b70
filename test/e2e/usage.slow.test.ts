import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openAnalyticsStorage, parseAnalyticsEnvironment } from "@reprise/analytics-service";
import { createClient } from "@reprise/client";
import { readStreamInfo, readStreamMessages } from "@reprise/broker";
import { type KnownEvent, STREAM_START, USAGE_STREAM } from "@reprise/protocol";
import { bundleProgram, createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { untilArchived } from "./testing/archive.ts";
import { type Cluster, startCluster } from "./testing/cluster.ts";
import { CARD, PATIENT, untilJudged } from "./testing/moderated.ts";

const REQUEST = { model: "sim", input: "Tell me a story.", metadata: { plan: "gold" } };
const FAST = { tokens: 40, tokens_per_second: 0, seed: 11 };
/** Takes 20 s: long enough for what happens in its middle. */
const SLOW = { tokens: 1_000, tokens_per_second: 50, seed: 11 };

/** Rebuilds the rows from the archive, as an operator would. */
async function rebuild(cluster: Cluster, dir: string): Promise<void> {
  const env = {
    PATH: process.env["PATH"],
    REPRISE_DATA_DIR: cluster.dataDir,
    REPRISE_ANALYTICS_KEYS: "plan",
  };
  const program = await bundleProgram("services/analytics/src/cli/main.ts");
  await promisify(execFile)(process.execPath, [program, "rebuild", "--rows", dir], { env });
}

async function readRows(dir: string) {
  const { openRows } = openAnalyticsStorage(
    parseAnalyticsEnvironment({ REPRISE_NATS_URL: "nats://127.0.0.1:4222", REPRISE_ANALYTICS_DIR: dir }),
  );
  await using source = await openRows();
  return await source.page({ tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 100 });
}

const endsIn = (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => /completed|failed|cancelled/.test(type)).map(({ type }) => type);
const hasDeltas = (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => type === "output.delta").length >= 10;

/** Generations of each kind of end and history. */
async function runAll(cluster: Cluster): Promise<Map<string, string>> {
  const [{ url }, , ...workers] = await Promise.all([
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startWorker(),
    cluster.startWorker(),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys["acme"]! });
  const create = async (more: object) => (await generations.create({ ...REQUEST, ...more })).id;
  const ids = new Map<string, string>();
  ids.set("completed", await create({ options: FAST }));
  ids.set(
    "failed",
    await create({ options: { ...FAST, fail_after_tokens: 7 }, policy: { max_attempts: 1 } }),
  );
  ids.set("cancelled", await create({ options: SLOW }));
  const moderation = { mode: "retract", rules: ["cards"], ...PATIENT };
  ids.set(
    "moderated",
    await create({
      options: { text: `Pay with ${CARD}, please.`, tokens_per_second: 100 },
      policy: { moderation },
    }),
  );
  await cluster.untilLog("acme", ids.get("cancelled")!, hasDeltas);
  await generations.cancel(ids.get("cancelled")!);
  for (const [name, more] of [
    ["taken over", {}],
    ["rewound", { continuable: false }],
  ] as const) {
    // Seconds long: its worker is killed in the middle of it.
    const id = await create({ options: { ...SLOW, ...more } });
    ids.set(name, id);
    const events = await cluster.untilLog("acme", id, hasDeltas);
    const begun = events.find((event) => event.type === "generation.started");
    workers.find((worker) => worker.id === begun?.worker)?.kill("SIGKILL");
    workers.push(await cluster.startWorker());
  }
  // Replays and joins use nothing.
  await generations.stream(ids.get("completed")!).done();
  await generations.stream(ids.get("completed")!).done();
  for (const id of ids.values()) await cluster.untilLog("acme", id, (events) => endsIn(events).length === 1);
  await untilJudged(cluster, ids.get("moderated")!);
  const typesOf = async (name: string) =>
    (await cluster.untilLog("acme", ids.get(name)!, () => true)).map(({ type }) => type);
  for (const name of ["completed", "failed", "cancelled"])
    expect(await typesOf(name)).toContain(`generation.${name}`);
  expect(await typesOf("moderated")).toContain("moderation.redacted");
  expect(await typesOf("rewound")).toContain("output.rewind");
  const started = (await typesOf("taken over")).filter((type) => type === "generation.started");
  expect(started.length).toBeGreaterThan(1);
  return ids;
}

/** Counts produced and kept tokens of a log, without any code of analytics. */
function count(events: readonly KnownEvent[]): [produced: number, kept: number] {
  let produced = 0;
  let kept: { seq: number; tokens: number }[] = [];
  for (const event of events) {
    if (event.type === "output.delta") {
      const { seq, tokens = 1 } = event;
      produced += tokens;
      kept.push({ seq, tokens });
    } else if (event.type === "output.rewind") kept = kept.filter(({ seq }) => seq <= event.to_seq);
  }
  return [produced, kept.reduce((sum, { tokens }) => sum + tokens, 0)];
}

async function deliveredTo(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), "utf8")));
  return texts
    .join("")
    .split("\n")
    .filter((line) => line !== "");
}

test("rows, usage files, the USAGE stream and the logs agree, and a rebuild from the archive has the same rows, for every kind of history", async () => {
  await using cluster = await startCluster({ ackWaitMs: 5_000 });
  await using dir = await createTempDir("usage");
  const [, analytics] = await Promise.all([
    cluster.startAuditLog(),
    cluster.startAnalytics({
      REPRISE_USAGE_DIR: dir.path,
      REPRISE_USAGE_STREAM: "on",
      REPRISE_ANALYTICS_KEYS: "plan",
    }),
  ]);
  const ids = await runAll(cluster);
  await untilArchived(cluster);
  await expect.poll(() => deliveredTo(dir.path).then(({ length }) => length)).toBe(ids.size);
  await expect
    .poll(async () => (await readStreamInfo(cluster.broker.reads, USAGE_STREAM)).lastStreamSeq)
    .toBe(ids.size);
  await analytics.stop();
  const from = { afterStreamSeq: STREAM_START, maxMessages: 100, maxBytes: 1_000_000 };
  const told = await readStreamMessages(cluster.broker.reads, USAGE_STREAM, from);
  expect(told.map(({ subject }) => subject)).toEqual(told.map(() => "usage.acme"));
  expect(told.map(({ payload }) => Buffer.from(payload).toString()).toSorted()).toEqual(
    (await deliveredTo(dir.path)).toSorted(),
  );

  const rows = await readRows(join(cluster.dataDir, "analytics"));
  expect(new Set(rows.map(({ generation }) => generation))).toEqual(new Set(ids.values()));
  type Used = Pick<(typeof rows)[number], "generation" | "output_tokens" | "output_tokens_kept">;
  const used = (of: Used) => `${of.generation} ${of.output_tokens} ${of.output_tokens_kept}`;
  const delivered = (await deliveredTo(dir.path)).map((line) => (JSON.parse(line) as { data: Used }).data);
  expect(delivered.map(used).toSorted()).toEqual(rows.map(used).toSorted());
  for (const row of rows) {
    const events = await cluster.untilLog("acme", row.generation, () => true);
    expect([row.generation, row.output_tokens, row.output_tokens_kept]).toEqual([
      row.generation,
      ...count(events),
    ]);
  }
  await using rebuilt = await createTempDir("rebuilt");
  await rebuild(cluster, rebuilt.path);
  expect(await readRows(rebuilt.path)).toEqual(rows);
});
