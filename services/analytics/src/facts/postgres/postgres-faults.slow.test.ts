import { GenerationFold, type GenerationRow } from "@reprise/metering";
import { createGenerationLog, openBroker } from "@reprise/log";
import { asSeq, encodeEvent, type GenerationRef, logSubject, type StreamSeq } from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/service";
import {
  completed,
  createRef,
  delta,
  requested,
  started,
  startPostgres,
  startTestBroker,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { startAnalytics } from "../../service.ts";
import { createDatabase } from "../../testing/fact-targets.ts";
import type { CommitDraft, LaneFacts } from "../lane-facts.ts";
import { createPostgresFacts } from "./postgres-facts.ts";
import { PostgresRows } from "./postgres-rows.ts";
import { Postgres } from "./postgres.ts";
import type { RunQuery } from "./run-query.ts";

const STREAM = "GENERATIONS_0";
const ALL = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 10_000 };
const eventsOf = (ref: GenerationRef) => [requested(ref), started(), delta("a"), completed()];

function draftOf(n: number): CommitDraft {
  const ref = createRef();
  const open = GenerationFold.begin(ref);
  for (const [i, draft] of eventsOf(ref).entries()) open.feed(encodeEvent(asSeq(i), draft), 1_000 + i, []);
  const last = (n + 1) as StreamSeq;
  return {
    lane: { stream: STREAM, epoch: 0, created: "a", last, last_seq_stored: last, last_at: n },
    rows: [open.toRow()],
    changed: [[`subject-${n}`, GenerationFold.begin(ref).encode()]],
    closed: n > 0 ? [`subject-${n - 1}`] : [],
  };
}

/** The next commit of a process that has just begun. */
async function begin(facts: LaneFacts): Promise<number> {
  const lane = await facts.last();
  if (!lane) return 0;
  const folds = await facts.restore({ ...lane, after: lane.last, sinceUs: 0 });
  expect([...folds.keys()]).toEqual([`subject-${lane.last - 1}`]);
  return lane.last;
}

test("a PostgreSQL that is killed at any statement of a commit, before or after it, has lost nothing and nothing twice", async () => {
  await using server = await startPostgres();
  const url = await createDatabase(server.url);
  const plan: { at?: number; when?: "before" | "after" } = {};
  let calls = 0;
  const around =
    (run: RunQuery): RunQuery =>
    async (text, values) => {
      const isNow = calls++ === plan.at;
      if (isNow && plan.when === "before") await server.kill();
      const outcome = await run(text, values);
      if (isNow && plan.when === "after") await server.kill();
      return outcome;
    };
  await using postgres = new Postgres({ url, around });
  const facts = createPostgresFacts(postgres).lane(STREAM);
  const expected: GenerationRow[] = [];
  const failures: unknown[] = [];
  const again: string[] = [];
  for (let n = await begin(facts), at = 0, isDone = false; !isDone; at++) {
    for (const when of ["before", "after"] as const) {
      const draft = draftOf(n++);
      [calls, plan.at, plan.when] = [0, at, when];
      const failure = await facts
        .commit(draft, () => [])
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      plan.at = -1;
      isDone = calls <= at;
      expected.push(...draft.rows);
      if (isDone) continue;
      await server.restart();
      // Another process finds all of it or nothing, and this one commits once, whether it had an answer or not.
      await begin(createPostgresFacts(postgres).lane(STREAM));
      failures.push(failure);
      // The last answer may have come before the end.
      again.push(failure === undefined ? "committed" : await facts.commit(draft, () => []));
    }
  }
  expect(failures.length).toBeGreaterThanOrEqual(12);
  for (const failure of failures.filter((one) => one !== undefined))
    expect(failure).toMatchObject({ code: "archive_unavailable" });
  expect(new Set(again)).toEqual(new Set(["committed"]));
  await using rows = new PostgresRows(new Postgres({ url, isReader: true }));
  const byName = (a: GenerationRow, b: GenerationRow) => (a.generation < b.generation ? -1 : 1);
  expect((await rows.page(ALL)).toSorted(byName)).toEqual(expected.toSorted(byName));
  expect(await begin(createPostgresFacts(postgres).lane(STREAM))).toBe(expected.length);
});

test("a PostgreSQL that has lost what it had acknowledged stops the commit behind it", async () => {
  await using server = await startPostgres();
  await using postgres = new Postgres({ url: server.url });
  const facts = createPostgresFacts(postgres).lane(STREAM);
  for (const n of [0, 1]) expect(await facts.commit(draftOf(n), () => [])).toBe("committed");
  await postgres.transaction((run) => run("delete from reprise_analytics.commits where n = 1"));
  await expect(facts.commit(draftOf(2), () => [])).rejects.toMatchObject({ code: "archive_corrupt" });
  expect((await facts.last())?.last).toBe(1);
});

test("analytics outlives its PostgreSQL: one line when it is gone and one when it is back, and each row once", async () => {
  await using server = await startPostgres();
  await using natsServer = await startTestBroker();
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  await using broker = await openBroker({ url: natsServer.url, name: "test", ...topology });
  const lines: { msg: string; level: string }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  const logger = createLogger({ service: "analytics", destination: { write } });
  const log = createGenerationLog(broker);
  const url = await createDatabase(server.url);
  await using reader = new PostgresRows(new Postgres({ url, isReader: true }));
  await using _ = await startAnalytics({
    broker,
    shards: 1,
    store: new Postgres({ url }),
    openRows: async () => new PostgresRows(new Postgres({ url, isReader: true })),
    keys: [],
    limits: { maxMessages: 100, maxAgeMs: 20, maxBytes: 1_000_000 },
    logger,
    metrics: createMetrics({ processMetrics: false }),
  });
  const refs: GenerationRef[] = [];
  const generate = async () => {
    const ref = createRef();
    refs.push(ref);
    for (const [i, draft] of eventsOf(ref).entries())
      await log.publish(logSubject(ref), encodeEvent(asSeq(i), draft), { timeoutMs: 60_000 });
  };
  const names = async () => (await reader.page(ALL)).map(({ generation }) => generation).toSorted();
  const expected = () => refs.map(({ generation }) => generation).toSorted();
  const linesWith = (text: string) => lines.filter(({ msg }) => msg.includes(text));
  for (let i = 0; i < 5; i++) await generate();
  await expect.poll(names).toEqual(expected());
  await server.kill();
  for (let i = 0; i < 5; i++) await generate();
  await expect.poll(() => linesWith("takes no commits").length).toBe(1);
  await server.restart();
  await expect.poll(() => linesWith("takes commits again").length).toBe(1);
  await generate();
  await expect.poll(names).toEqual(expected());
  expect(lines.filter(({ level }) => level !== "info").map(({ msg }) => msg)).toEqual([
    "the store of analytics takes no commits",
  ]);
});
