import { createFileStore } from "@reprise/archive";
import { GenerationFold, type GenerationRow } from "@reprise/facts";
import { history, type StoredBytes } from "@reprise/facts/testing";
import { asSeq, encodeEvent, type GenerationRef, logSubject, streamOf } from "@reprise/protocol";
import { localFiles } from "@reprise/facts/tables";
import { completed, createRef, createTempDir, delta, requested, started } from "@reprise/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createFactStore } from "../facts/fact-store.ts";
import { DuckDbRows } from "../facts/duckdb-rows.ts";
import { openArchiveWorld } from "../testing/archive-world.ts";
import { rebuildRows } from "./rebuild-rows.ts";

const KEYS = ["plan", "feature"];
const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const ALL = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 10_000 };

function foldAll(ref: GenerationRef, log: readonly StoredBytes[], fold = GenerationFold.begin(ref)) {
  for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs, KEYS);
  return fold;
}

test("rows that are made from the archive are those of the logs, and what continues does so from the live log", async () => {
  await using world = await openArchiveWorld();
  await using folder = await createTempDir("rebuilt");
  const rows: GenerationRow[] = [];
  for (const log of fc.sample(history, { numRuns: 40, seed: 7 })) {
    const ref = createRef();
    await world.addLog(ref, log);
    rows.push(foldAll(ref, log).toRow());
  }
  const running = createRef();
  const drafts = [
    requested(running, { metadata: { plan: "gold" } }),
    started(),
    delta("a"),
    delta("b"),
    completed(),
  ];
  const log = drafts.map((draft, seq) => ({
    payload: encodeEvent(asSeq(seq), draft),
    storedAtUs: NOON_US + 3_600_000_000 + seq,
  }));
  await world.addLog(running, log.slice(0, 3));
  const store = createFileStore(folder.path);
  const facts = createFactStore(store);
  const { archived } = world;
  const { lanes } = world.archive.state;
  const rebuilt = await rebuildRows({ archived, lanes, facts, keys: KEYS });
  expect(rebuilt).toEqual({ rows: rows.length, open: 1, left: 0 });
  await using source = new DuckDbRows({ store, files: localFiles(folder.path) });
  const byId = (all: readonly GenerationRow[]) =>
    all.toSorted((one, other) => (one.generation < other.generation ? -1 : 1));
  expect(byId(await source.page(ALL))).toEqual(byId(rows));

  const lane = facts.lane(streamOf(running.generation));
  const last = await lane.last();
  expect(last).toMatchObject({ last: lanes.get(streamOf(running.generation))?.last });
  const start = { epoch: last?.epoch ?? 0, created: last?.created ?? "", after: last!.last, sinceUs: 0 };
  const open = (await lane.restore(start)).get(logSubject(running));
  const rest = foldAll(running, log.slice(3), GenerationFold.decode(open!));
  expect(rest.toRow()).toEqual(foldAll(running, log).toRow());
  await expect(rebuildRows({ archived, lanes, facts, keys: KEYS })).rejects.toMatchObject({
    code: "config_invalid",
  });
});
