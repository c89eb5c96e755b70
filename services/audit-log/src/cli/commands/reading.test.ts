import { readFile } from "node:fs/promises";
import { join } from "node:path";

import {
  decodeOpsRecord,
  OPS_STREAM,
  opsSubject,
  type DeliveryMark,
  type InputEntry,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { openBroker, readStreamMessages } from "@reprise/broker";
import { completed, createRef, delta, redacted, requested, started, startTestBroker } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { openFilledArchive } from "../../testing/filled-archive.ts";
import { runOn } from "../../testing/run-command.ts";
import { EXIT } from "../command.ts";
import { exportEvents } from "./export.ts";
import { replay } from "./replay.ts";
import { search } from "./search.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const mark: DeliveryMark = {
  reader: "rdr_1",
  protocol: "sse",
  address: "public",
  by: "key",
  from_seq: asSeq(1),
  seq: asSeq(2),
  started_at: "2026-11-21T12:00:00.000Z",
};

async function openArchiveOf(metadata: Record<string, string> = {}) {
  const filled = await openFilledArchive();
  const ref = createRef();
  filled.log(
    ref,
    [requested(ref, { metadata }), started(), delta("secret"), redacted(2, 2), completed()],
    NOON_US,
  );
  filled.ops(ref, { kind: "delivered", at: mark.started_at, node: "n1", readers: [mark] });
  await filled.commit();
  return { filled, ref, id: ref.generation, [Symbol.asyncDispose]: () => filled[Symbol.asyncDispose]() };
}

describe("reprise-audit replay", () => {
  it("finds the generation by itself, and says that nothing records the access", async () => {
    await using world = await openArchiveOf();
    const { code, out, err } = await runOn(world.filled, replay, "--generation", world.id);
    expect([code, out]).toEqual([
      EXIT.fine,
      '[redacted]\n[events 2 to 2 read "[redacted]" from here on]\n\n',
    ]);
    expect(err).toContain("recorded nowhere");
  });

  it("shows what was generated, or what one connection was handed", async () => {
    await using world = await openArchiveOf();
    const of = (...args: string[]) => runOn(world.filled, replay, "--generation", world.id, ...args);
    expect((await of("--original", "--format", "json")).out.split("\n")).toHaveLength(6);
    const shown = await of("--as-shown-to", "rdr_1", "--format", "sse");
    expect(shown.out).toMatch(/^retry: 250\nid: 1-1\ndata: /);
    expect(shown.out).toContain('id: 1-2\ndata: {"seq":2,"type":"output.delta","text":"secret"}\n\n');
    expect(shown.err).toContain("rdr_1: sse, public, by key, events 1 to 2");
    const unknown = await of("--as-shown-to", "rdr_2");
    expect(unknown).toMatchObject({ code: EXIT.unknown, out: "" });
    expect(unknown.err).toContain("rdr_1: sse");
  });

  it("shows nothing of a generation of which events are missing, and says which", async () => {
    await using world = await openArchiveOf();
    world.filled.event(world.ref, 7, delta("later"), NOON_US);
    await world.filled.commit();
    const { code, out, err } = await runOn(world.filled, replay, "--generation", world.id);
    expect([code, out]).toEqual([EXIT.gap, ""]);
    expect(err).toContain("Events 5 to 6");
  });

  it("shows what was streamed to the model, unless entries are missing", async () => {
    await using world = await openArchiveOf();
    const { filled, ref, id } = world;
    const input = (seq: number, entry: InputEntry) =>
      filled.input(
        ref,
        { first: asSeq(seq), seq: asSeq(seq), at: 0, committed: asSeq(0), entry },
        NOON_US + seq,
      );
    input(1, { type: "input.delta", text: "hello" });
    input(2, { type: "input.audio", audio: Uint8Array.of(1, 2, 255) });
    input(2, { type: "input.audio", audio: Uint8Array.of(1, 2, 255) });
    input(3, { type: "input.end" });
    await filled.commit();
    const of = (...args: string[]) => runOn(filled, replay, "--generation", id, "--input", ...args);
    expect(await of()).toMatchObject({ code: EXIT.fine, out: "hello\n" });
    expect((await of("--format", "json")).out.split("\n")[1]).toBe(
      '{"at":"2026-11-21T12:00:00.000002Z","input":{"first":2,"seq":2,"type":"input.audio","audio":"AQL/"}}',
    );
    const path = join(filled.dir, "..", "input.ndjson");
    const args = ["--tenant", ref.tenant, "--original", "--out", path];
    expect((await runOn(filled, exportEvents, ...args)).out).toContain("8 events of 1 generations");
    expect((await readFile(path, "utf8")).split("\n").at(-2)).toContain('"type":"input.end"');
    const shown = await runOn(filled, exportEvents, "--tenant", ref.tenant, "--out", `${path}.shown`);
    expect([shown.code, await readFile(`${path}.shown`, "utf8")]).toEqual([
      EXIT.fine,
      expect.not.stringContaining("input."),
    ]);
    input(5, { type: "input.clear" });
    await filled.commit();
    const gap = await of();
    expect(gap).toMatchObject({ code: EXIT.gap, out: "" });
    expect(gap.err).toContain("Entries 4 to 4 of the input");
  });

  it("refuses options that it does not have, or that make no sense together", async () => {
    await using world = await openArchiveOf();
    const { filled, id } = world;
    for (const args of [
      [],
      ["--generation", "x"],
      ["--generation", id, "--speed", "0"],
      ["--generation", id, "--format", "xml"],
      ["--generation", id, "--original", "--as-shown-to", "rdr_1"],
      ["--generation", id, "--input", "--original"],
      ["--generation", id, "--input", "--format", "sse"],
      ["--generation", id, "--fast"],
    ])
      await expect(runOn(filled, replay, ...args)).rejects.toMatchObject({
        code: expect.stringMatching(/invalid_request|generation_not_found/),
      });
  });

  it("has the access recorded at the broker before it shows anything", async () => {
    await using server = await startTestBroker();
    await using broker = await openBroker({
      url: server.url,
      name: "test",
      shards: 1,
      replicas: 1,
      retentionMs: 3_600_000,
    });
    await using world = await openArchiveOf();
    const { ref, id } = world;
    const { code } = await runOn(world.filled, replay, "--generation", id, "--nats", server.url);
    expect(code).toBe(EXIT.fine);
    const [record] = await readStreamMessages(broker.main, OPS_STREAM, {
      afterStreamSeq: asStreamSeq(0),
      maxMessages: 10,
      maxBytes: 1e6,
    });
    expect(record!.subject).toBe(opsSubject("access", ref.tenant, ref.generation));
    expect(decodeOpsRecord(record!.payload)).toMatchObject({
      kind: "access",
      call: "replay",
      by: expect.stringMatching(/^cli:/),
      query: { original: "false" },
    });
    // A broker without the stream stores nothing; one that is gone even less.
    await using bare = await startTestBroker();
    await expect(runOn(world.filled, replay, "--generation", id, "--nats", bare.url)).rejects.toMatchObject({
      code: "broker_unavailable",
    });
    await server.stop();
    await expect(runOn(world.filled, replay, "--generation", id, "--nats", server.url)).rejects.toMatchObject(
      {
        code: "broker_unavailable",
      },
    );
  });
});

describe("reprise-audit search", () => {
  it("lists generations in a line each, or as JSON", async () => {
    await using world = await openArchiveOf({ team: "x" });
    const of = (...args: string[]) => runOn(world.filled, search, "--tenant", world.ref.tenant, ...args);
    expect((await of("--metadata", "team=x")).out).toBe(
      `2026-11-21T12:00:00.000Z  ${world.id}  completed        5 events  sim\n`,
    );
    expect((await of("--metadata", "team=y")).out).toBe("");
    expect((await of("--from", "2026-11-22")).out).toBe("");
    expect(JSON.parse((await of("--to", "2026-11-22", "--json")).out)).toMatchObject({ id: world.id });
  });

  it("says how to continue after a full page", async () => {
    await using world = await openArchiveOf();
    const other = createRef();
    world.filled.log(other, [requested(other)], NOON_US - 1_000);
    await world.filled.commit();
    const of = (...args: string[]) => runOn(world.filled, search, "--tenant", other.tenant, ...args);
    const { err } = await of("--limit", "1");
    const after = /--after (\S+)/.exec(err)![1]!;
    expect((await of("--limit", "1", "--after", after)).out).toContain(other.generation);
  });

  it("refuses what is no time, no status and no pair", async () => {
    await using world = await openArchiveOf();
    const of = (...args: string[]) => runOn(world.filled, search, "--tenant", "acme", ...args);
    for (const args of [
      ["--from", "noon"],
      ["--status", "done"],
      ["--metadata", "x"],
      ["--limit", "0"],
    ])
      await expect(of(...args)).rejects.toMatchObject({ code: "invalid_request" });
  });
});

describe("reprise-audit export", () => {
  it("writes a file, and ends with 3 where events of a generation are missing", async () => {
    await using world = await openArchiveOf();
    const { filled, ref } = world;
    const path = join(filled.dir, "..", "out.ndjson");
    const of = (...args: string[]) => runOn(filled, exportEvents, "--tenant", ref.tenant, ...args);
    expect(await of("--out", path)).toMatchObject({
      code: EXIT.fine,
      out: `${path}: 4 events of 1 generations\n`,
    });
    expect((await readFile(path, "utf8")).split("\n")).toHaveLength(5);
    const holed = createRef();
    filled.event(holed, 1, started(), NOON_US);
    await filled.commit();
    const second = await of("--out", `${path}.parquet`);
    expect(second.code).toBe(EXIT.gap);
    expect(second.err).toContain(`${holed.generation} lacks events`);
    await expect(of("--out", path)).rejects.toMatchObject({ code: "invalid_request" });
  });
});
