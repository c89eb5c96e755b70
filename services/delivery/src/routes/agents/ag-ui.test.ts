import { describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  delta,
  KEYS,
  openPlatform,
  rewind,
  started,
} from "../../testing/platform.ts";
import { AG_UI, eventsOf, INPUT, openRun, readRun, refusedRun, textOf, workOn } from "./agents.fixture.ts";

const typesOf = (reader: Parameters<typeof eventsOf>[0]) => eventsOf(reader).map(({ type }) => type);
const snapshotOf = (reader: Parameters<typeof eventsOf>[0]) =>
  eventsOf(reader).find(({ type }) => type === "MESSAGES_SNAPSHOT")?.["messages"];

describe("a run of AG-UI", () => {
  test("is events without ids, to the run's end", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, `${AG_UI}?model=sim`, { body: { forwardedProps: {} } });
    expect(reader.status).toBe(200);
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), delta("Hel"), delta("lo"), completed());
    expect(await reader.ended).toBe("clean");
    expect(new Set(reader.frames.map(({ id }) => id))).toEqual(new Set([""]));
    expect(typesOf(reader).at(0)).toBe("RUN_STARTED");
    expect(typesOf(reader).at(-1)).toBe("RUN_FINISHED");
    expect(textOf(reader)).toBe("Hello");
  });

  test("that is there is come back to by its name, with any messages, at any node: a snapshot and what follows", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    await using first = await openRun(platform.node, AG_UI);
    const { worker } = await workOn(platform, first);
    await append(worker, started(), delta("Hel"));
    for (let frames = 0; frames < 3; frames++) await first.nextFrame();
    first.cut();
    const messageId = eventsOf(first).at(-1)?.["messageId"];
    const messages = [...INPUT.messages, { id: messageId, role: "assistant", content: "Hel" }];
    await using rest = await openRun(other, AG_UI, { body: { messages } });
    expect(rest.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
    await append(worker, delta("lo"), completed());
    expect(await rest.ended).toBe("clean");
    expect(snapshotOf(rest)).toEqual([
      ...INPUT.messages,
      { id: messageId, role: "assistant", content: "Hel" },
    ]);
    expect(typesOf(rest)).toEqual([
      "RUN_STARTED",
      "MESSAGES_SNAPSHOT",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(textOf(rest)).toBe("lo");
  });

  test("that is over is told by a snapshot and its end", async () => {
    await using platform = await openPlatform();
    await using first = await openRun(platform.node, AG_UI);
    const { worker } = await workOn(platform, first);
    await append(worker, started(), delta("Hi"), completed());
    expect(await first.ended).toBe("clean");
    await using late = await readRun(platform.node, `${AG_UI}?runId=r1`);
    expect(late.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
    expect([await late.ended, typesOf(late)]).toEqual([
      "clean",
      ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"],
    ]);
    expect(snapshotOf(late)).toEqual([{ id: expect.any(String), role: "assistant", content: "Hi" }]);
  });

  test("that has begun again is over for those who were there, and whole for those who come then", async () => {
    await using platform = await openPlatform();
    await using first = await openRun(platform.node, AG_UI);
    const { worker } = await workOn(platform, first);
    await append(worker, started(), delta("wrong"), rewind(1), delta("right"));
    expect(await first.ended).toBe("clean");
    expect(eventsOf(first).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "restarted" });
    await using late = await openRun(platform.node, AG_UI);
    await append(worker, delta("!"), completed());
    expect(await late.ended).toBe("clean");
    expect(snapshotOf(late)).toEqual([
      ...INPUT.messages,
      { id: expect.any(String), role: "assistant", content: "right" },
    ]);
    expect([textOf(late), typesOf(late).at(-1)]).toEqual(["!", "RUN_FINISHED"]);
  });

  test("that has not begun is waited for", async () => {
    await using platform = await openPlatform();
    await using first = await openRun(platform.node, AG_UI);
    await using late = await openRun(platform.node, AG_UI);
    const { worker } = await workOn(platform, first);
    await append(worker, started(), delta("Hi"), completed());
    expect([await late.ended, late.frames]).toEqual([await first.ended, first.frames]);
  });

  test("is stopped by a call of its own", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, AG_UI);
    const { status } = await call(`${platform.node.url}${AG_UI}/t1/stop`, { method: "POST" });
    expect([status, await reader.ended]).toEqual([200, "clean"]);
    expect(eventsOf(reader).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "cancelled" });
  });
});

describe("what a client of AG-UI can't ask for", () => {
  test("is refused by its name", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    expect(await refusedRun(node, AG_UI, { headers: { "idempotency-key": "k" } })).toMatchObject({
      status: 400,
      json: { error: { param: "Idempotency-Key" } },
    });
    expect(await refusedRun(node, AG_UI, { body: { state: { a: 1 } } })).toMatchObject({
      status: 400,
      json: { error: { param: "state" } },
    });
    const needsName = {
      param: "runId",
      message: "runId: must be there, once: the name of the run to read, as ?runId=<run>",
    };
    for (const [query, status, error] of [
      ["", 400, needsName],
      ["?threadId=t1", 400, needsName],
      ["?runId=", 400, needsName],
      ["?runId=r1&runId=r2", 400, needsName],
      ["?runId=r9", 404, { code: "generation_not_found", param: "runId" }],
    ] as const)
      expect(await call(`${node.url}${AG_UI}${query}`)).toMatchObject({ status, json: { error } });
  });

  test("needs the roles create and read", async () => {
    await using platform = await openPlatform();
    const { status } = await call(`${platform.node.url}${AG_UI}`, { body: INPUT, key: KEYS.acmeCreator });
    expect(status).toBe(403);
  });
});
