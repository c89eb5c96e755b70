import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { readSegmentFile } from "@reprise/archive";
import { encodeEvent, type EventDraft, asSeq } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { openFilledArchive } from "../filled-archive.ts";
import { openIndependently, unwrapIndependently } from "./segments.ts";
import { MASTER_KEY } from "../test-keys.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;

/** An archive with one generation of each of these, read by what shares no code with it. */
async function readBack(logs: readonly (readonly EventDraft[])[], subject?: string) {
  await using filled = await openFilledArchive();
  const ref = createRef();
  const events = logs.flat();
  // Places and times that are not evenly apart.
  for (const [seq, draft] of events.entries()) {
    if (seq % 3 === 0) filled.log(createRef("beta"), [requested(ref), started()], NOON_US + 1_000 * seq);
    filled.event(
      ref,
      seq,
      seq === 0 ? requested(ref, { ...(subject && { subject }) }) : draft,
      NOON_US + seq ** 2,
    );
    if (seq === events.length >> 1) await filled.commit();
  }
  await filled.commit();
  const database = await DuckDBInstance.create(":memory:");
  const connection = await database.connect();
  const texts: string[] = [];
  for (const { key } of filled.archive.state.files(ref.tenant)) {
    const path = join(filled.dir, key).replaceAll("'", "''");
    const rows = (
      await connection.runAndReadAll(`SELECT header, sealed FROM read_parquet('${path}')`)
    ).getRowObjects();
    for (const { header, sealed } of rows) {
      const { tenant, kid } = JSON.parse(String(header)) as { tenant: string; kid: string };
      const opened = unwrapIndependently(join(filled.keysDir, "wrapped"), MASTER_KEY, { tenant, kid });
      const bytes = (sealed as unknown as { bytes: Uint8Array }).bytes;
      texts.push(...openIndependently(String(header), bytes, opened!).map(({ text }) => text));
    }
  }
  connection.closeSync();
  const written = events.map((draft, seq) =>
    Buffer.from(
      encodeEvent(asSeq(seq), seq === 0 ? requested(ref, { ...(subject && { subject }) }) : draft),
    ).toString(),
  );
  return { texts, written };
}

describe("a reader that shares no code with the writer", () => {
  const words = "It was late – naïve, 日本語 and 🙂 too.".split(/(?<= )/).map(delta);
  const thoughts = words.map((draft): EventDraft => ({ ...draft, type: "reasoning.delta" }) as EventDraft);

  test.each([
    ["words", [[started()], words, [completed()]], undefined],
    ["words of a person", [[started()], words, [completed()]], "person-1"],
    [
      "thoughts, and words of several tokens",
      [[started()], thoughts, words.map((d) => ({ ...d, tokens: 3 }) as EventDraft)],
      undefined,
    ],
    [
      "a long log",
      [Array.from({ length: 700 }, (_, i) => delta(`${"x".repeat((i * 7) % 40)} ${i}`))],
      undefined,
    ],
  ])("reads %s as they were stored", async (_, logs, subject) => {
    const { texts, written } = await readBack([[started()], ...logs], subject);
    expect(texts).toEqual(written);
  });

  test("reads nothing of a key that was destroyed", async () => {
    await using filled = await openFilledArchive();
    const refs = [createRef(), createRef()];
    for (const ref of refs) filled.log(ref, [requested(ref), started()], NOON_US);
    await filled.commit();
    const [{ key } = { key: "" }] = filled.archive.state.files("acme");
    const segments = await readSegmentFile(readFileSync(join(filled.dir, key)));
    const kids = segments.map(({ header }) => header.kid);
    await filled.keyring.destroy("acme", kids.slice(0, 1));
    const opened = kids.map((kid) =>
      unwrapIndependently(join(filled.keysDir, "wrapped"), MASTER_KEY, { tenant: "acme", kid }),
    );
    expect(opened.map((one) => one?.length)).toEqual([undefined, 32]);
  });
});

test("what is independent imports nothing of this project but itself", () => {
  const files = globSync("*.ts", { cwd: import.meta.dirname }).filter((name) => !name.includes(".test."));
  const imported = files.flatMap((name) =>
    [...readFileSync(join(import.meta.dirname, name), "utf8").matchAll(/ from "(.+)";$/gm)].map(
      ([, from]) => from!,
    ),
  );
  expect(imported.length).toBeGreaterThan(files.length);
  expect(imported.filter((from) => !/^(node:|@duckdb\/|\.\/)/.test(from))).toEqual([]);
});
