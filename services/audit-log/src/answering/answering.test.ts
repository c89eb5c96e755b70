import { ArchiveReader, openArchive, type PlacedSegment } from "@reprise/archive";
import { connectBroker } from "@reprise/broker";
import {
  CALL_ERROR_HEADER,
  AUDIT_MORE_HEADER,
  type AuditCall,
  auditCallSubject,
  type AuditRecord,
  encodeEvent,
  type GenerationRef,
  type DeliveryMark,
  asSeq,
} from "@reprise/protocol";
import {
  completed,
  createRef,
  delta,
  PATIENCE_MS,
  redacted,
  requested,
  started,
  startTestBroker,
} from "@reprise/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { ArchiveSearch } from "../search/archive-search.ts";
import { localFiles } from "@reprise/facts/tables";
import { openFilledArchive } from "../testing/filled-archive.ts";
import { type AnsweredCall, startAnswering } from "./start-answering.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const server = await startTestBroker();
afterAll(() => server[Symbol.asyncDispose]());

/** A server that answers from an archive that others write to, and its client. */
async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await connectBroker({ url: server.url, name: "test" }));
  const filled = stack.use(await openFilledArchive());
  const { keyring, dir } = filled;
  const archive = await openArchive({ store: filled.archive.store, name: "test" });
  const search = stack.use(new ArchiveSearch({ archive, keyring, files: localFiles(dir) }));
  const reader = new ArchiveReader({ archive, keyring });
  const onError = (error: unknown) => expect.unreachable(String(error));
  const answered: AnsweredCall[] = [];
  const onAnswered = (call: AnsweredCall) => answered.push(call);
  stack.use(startAnswering({ connection: broker.main, archive, reader, search, onAnswered, onError }));
  await broker.main.flush();
  const ask = async (call: AuditCall, request: unknown) => {
    const msg = await broker.main.request(auditCallSubject(call), JSON.stringify(request), {
      timeout: PATIENCE_MS,
    });
    const error = msg.headers?.get(CALL_ERROR_HEADER);
    return {
      text: msg.string(),
      more: msg.headers?.get(AUDIT_MORE_HEADER) === "1",
      code: error ? (JSON.parse(error) as { error: { code: string } }).error.code : undefined,
    };
  };
  const kept = stack.move();
  return { filled, ask, answered, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const said = (ref: GenerationRef) => [
  requested(ref),
  started(),
  delta("a"),
  delta("b"),
  redacted(2, 3),
  completed(),
];

describe("a call to the audit log", () => {
  it("for a list finds what another process has just archived", async () => {
    await using world = await openWorld();
    const ref = createRef();
    const list = async () => {
      const { text } = await world.ask("search", { tenant: ref.tenant });
      return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await list()).toEqual([]);
    world.filled.log(ref, said(ref), NOON_US);
    await world.filled.commit();
    await expect.poll(list, { interval: 100 }).toEqual([ref.generation]);
  });

  it("for events gets pages of the log as it is shown, one after the other, at once when it was just archived", async () => {
    await using world = await openWorld();
    const ref = createRef();
    expect(await world.ask("events", { ...ref, from_seq: 1, max_bytes: 100 })).toMatchObject({
      code: "generation_not_found",
      text: "",
    });
    world.filled.log(ref, said(ref), NOON_US);
    await world.filled.commit();
    const pages: string[] = [];
    for (let from_seq = 1, more = true; more; from_seq += pages.at(-1)!.split("\n").length - 1) {
      const page = await world.ask("events", { ...ref, from_seq, max_bytes: 200 });
      expect(page.code).toBeUndefined();
      pages.push(page.text);
      ({ more } = page);
    }
    expect(pages.length).toBeGreaterThan(1);
    const lines = pages.join("").split("\n").slice(0, -1);
    expect(lines.map((line) => line.split(" ").slice(0, 2))).toEqual(
      [1, 2, 3, 4, 5].map((seq) => [`1-${seq}`, `${NOON_US / 1_000 + seq}`]),
    );
    expect(lines[1]).toContain(`"text":"[redacted]"`);
    const original = await world.ask("events", { ...ref, from_seq: 2, max_bytes: 10_000, original: true });
    expect(original.text.split("\n")[0]!.split(" ").slice(2).join(" ")).toBe(
      Buffer.from(encodeEvent(asSeq(2), delta("a"))).toString(),
    );
  });

  it("for a record gets the readers, the verdict, the accesses and where the segments lie in the tree", async () => {
    await using world = await openWorld();
    const { filled } = world;
    const ref = createRef();
    const mark = (seq: number): DeliveryMark => ({
      reader: "rdr_1",
      protocol: "sse",
      address: "public",
      by: "key",
      from_seq: asSeq(1),
      seq: asSeq(seq),
      started_at: "2026-11-21T12:00:00.000Z",
    });
    const at = "2026-11-21T12:00:01.000Z";
    const access = { kind: "access", at, by: "auditor", call: "replay" } as const;
    const verdict = { judged: asSeq(5), cleared: asSeq(5), decided: asSeq(4) };
    filled.log(ref, said(ref).slice(0, 3), NOON_US);
    filled.verdict(ref, verdict);
    for (const seq of [1, 3]) filled.ops(ref, { kind: "delivered", at, node: "n1", readers: [mark(seq)] });
    filled.ops(ref, access);
    await filled.commit();
    const { text } = await world.ask("record", ref);
    const { segments, ...record } = JSON.parse(text) as AuditRecord;
    expect(record).toMatchObject({
      id: ref.generation,
      status: "open",
      events: 3,
      verdict,
      readers: [mark(3)],
      accesses: [access],
    });
    expect(segments).toEqual([{ leaf: expect.stringMatching(/^[0-9a-f]{64}$/), first_seq: 0, last_seq: 2 }]);
  });

  it("for events gets those before a hole and those after it, and is told where it asks for what is missing", async () => {
    await using world = await openWorld();
    const ref = createRef();
    for (const seq of [2, 3, 6]) world.filled.event(ref, seq, delta(`${seq}`), NOON_US);
    await world.filled.commit();
    const of = (from_seq: number) => world.ask("events", { ...ref, from_seq, max_bytes: 1_000 });
    expect(await of(1)).toMatchObject({ code: "cursor_expired" });
    const before = await of(2);
    expect(before).toMatchObject({ code: undefined, more: true });
    expect(before.text.split("\n")).toHaveLength(3);
    expect(await of(4)).toMatchObject({ code: "cursor_expired" });
    expect((await of(6)).text).toContain(`"text":"6"`);
  });

  it("gets of an erased generation what was never encrypted, as soon as it is erased", async () => {
    await using world = await openWorld();
    const { filled } = world;
    const ref = createRef();
    filled.log(ref, said(ref), NOON_US);
    await filled.commit();
    const events = { ...ref, from_seq: 1, max_bytes: 1_000 };
    expect((await world.ask("events", events)).code).toBeUndefined();
    const [{ header }] = (await filled.reader.segmentsOf(ref)) as [PlacedSegment];
    const at = "2026-11-22T12:00:00.000Z";
    await filled.sayErased(ref, at, [header.kid]);
    await expect
      .poll(async () => (await world.ask("events", events)).code, { interval: 100 })
      .toBe("generation_erased");
    const record = JSON.parse((await world.ask("record", ref)).text) as AuditRecord;
    expect(record).toMatchObject({ events: 6, erased_at: at, readers: [], accesses: [] });
  });

  it("is told of with its tenant, its time and its result, and nothing else of what was asked", async () => {
    await using world = await openWorld();
    const { tenant, generation } = createRef();
    await world.ask("search", { tenant });
    await world.ask("record", { tenant, generation });
    await world.ask("search", { tenant: "*", secret: "Falcon" });
    const ms = expect.any(Number) as number;
    expect(world.answered).toEqual([
      { call: "search", tenant, ms, result: "ok" },
      { call: "record", tenant, ms, result: "generation_not_found" },
      { call: "search", tenant: undefined, ms, result: "invalid_request" },
    ]);
  });

  it("gets nothing of another tenant's generation", async () => {
    await using world = await openWorld();
    const ref = createRef();
    world.filled.log(ref, said(ref), NOON_US);
    await world.filled.commit();
    const other = { ...ref, tenant: "other" };
    for (const [call, request] of [
      ["record", other],
      ["events", { ...other, from_seq: 0, max_bytes: 100, original: true }],
    ] as const)
      expect(await world.ask(call, request)).toMatchObject({ code: "generation_not_found", text: "" });
  });

  it("is told to come again where too many wait already", async () => {
    await using broker = await connectBroker({ url: server.url, name: "test" });
    await using filled = await openFilledArchive();
    const { archive, reader } = filled;
    const busy = Promise.withResolvers<{ object: "list"; data: [] }>();
    const search = { search: () => busy.promise };
    const onError = (error: unknown) => expect.unreachable(String(error));
    await using _ = startAnswering({ connection: broker.main, archive, reader, search, onError });
    const ask = () =>
      broker.main.request(auditCallSubject("search"), '{"tenant":"acme"}', { timeout: PATIENCE_MS });
    const waiting = Array.from({ length: 8 + 256 }, ask);
    const refused = (await ask()).headers?.get(CALL_ERROR_HEADER);
    expect(refused).toContain("audit_unavailable");
    busy.resolve({ object: "list", data: [] });
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map((answer) => answer.string()))).toEqual(
      new Set(['{"object":"list","data":[]}']),
    );
  });

  it("that is none is refused", async () => {
    await using world = await openWorld();
    const { tenant, generation } = createRef();
    for (const [call, request] of [
      ["search", { tenant: "a.b" }],
      ["search", { tenant, limit: 1_001 }],
      ["search", { tenant, after: "x" }],
      ["record", { tenant, generation: "gen_x" }],
      ["events", { tenant, generation, from_seq: -1, max_bytes: 1 }],
      ["events", "no object"],
    ] as const)
      expect((await world.ask(call, request)).code).toBe("invalid_request");
  });
});
