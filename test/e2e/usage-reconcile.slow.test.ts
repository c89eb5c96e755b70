import { execFile } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { readStreamInfo, readStreamMessages } from "@reprise/log";
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

interface Report {
  readonly compared: number;
  readonly differences: number;
  readonly notCompared: Record<string, number>;
  readonly totals: { tenant: string; record: string; generations: number; output_tokens: number }[];
  readonly listed: { kind: string; generation: string; fields?: Record<string, unknown> }[];
}

/** Runs the command as an operator would. */
async function reconcile(
  cluster: Cluster,
  ...args: string[]
): Promise<{ code: number; report: Report; err: string }> {
  const env = { PATH: process.env["PATH"], REPRISE_DATA_DIR: cluster.dataDir };
  const command = ["--enable-source-maps", await bundleProgram("services/analytics/src/cli/main.ts")];
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, "reconcile", "--json", ...args], { env }, (error, out, err) => {
      const code = error ? Number(error.code) : 0;
      resolve({ code, report: (out === "" ? {} : JSON.parse(out)) as Report, err });
    });
  });
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

async function deliveredTo(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), "utf8")));
  return texts
    .join("")
    .split("\n")
    .filter((line) => line !== "");
}

test("rows and usage files have what the archive computes, of every kind of history, and each tampered record is named", async () => {
  await using cluster = await startCluster({ ackWaitMs: 5_000 });
  await using dir = await createTempDir("usage");
  const usage = ["--usage-dir", dir.path];
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

  const fine = await reconcile(cluster, ...usage);
  expect(fine).toMatchObject({ code: 0, report: { compared: ids.size, differences: 0, listed: [] } });
  const tokens = fine.report.totals.map(({ record, output_tokens }) => [record, output_tokens]);
  expect(new Set(fine.report.totals.map(({ record }) => record))).toEqual(
    new Set(["archive", "rows", "usage_files"]),
  );
  expect(new Set(tokens.map(([, count]) => count)).size).toBe(1);
  expect(await reconcile(cluster, "--to", "2026-01-01")).toMatchObject({ code: 0, report: { compared: 0 } });
  expect((await reconcile(cluster, "--from", "yesterday")).code).toBe(2);
  expect((await reconcile(cluster, "--rows")).code).toBe(2);

  const [name = ""] = await readdir(dir.path);
  const lines = await deliveredTo(dir.path);
  const forged = lines.map((line) =>
    line.includes(ids.get("failed")!) ? line.replace(/"output_tokens":\d+/, '"output_tokens":1000') : line,
  );
  await writeFile(
    join(dir.path, name),
    forged
      .filter((line) => !line.includes(ids.get("cancelled")!))
      .map((line) => `${line}\n`)
      .join(""),
  );
  const tampered = await reconcile(cluster, ...usage);
  expect(tampered.code).toBe(1);
  const kinds = tampered.report.listed.map(({ kind, generation }) => [kind, generation]);
  expect(new Set(kinds.map((one) => one.join(" ")))).toEqual(
    new Set([
      `different_in_usage_files ${ids.get("failed")}`,
      `missing_in_usage_files ${ids.get("cancelled")}`,
    ]),
  );
  await rm(dir.path, { recursive: true });
});
