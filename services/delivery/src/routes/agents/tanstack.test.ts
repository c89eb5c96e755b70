import type { EventDraft } from "@reprise/protocol";
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
  toolCall,
} from "../../testing/platform.ts";
import { eventsOf, INPUT, openRun, readRun, refusedRun, TANSTACK, textOf, workOn } from "./agents.fixture.ts";

describe("a run of TanStack AI", () => {
  test("is chunks with an id each, to the run's end", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, `${TANSTACK}?model=sim`, {
      body: { forwardedProps: {} },
    });
    expect(reader.status).toBe(200);
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), delta("Hel"), delta("lo"), completed());
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ id }) => id)).toEqual(reader.frames.map((_, at) => `${at}`));
    expect(eventsOf(reader)[0]).toMatchObject({ type: "RUN_STARTED", threadId: "t1", runId: "r1" });
    expect(eventsOf(reader).at(-1)).toMatchObject({ type: "RUN_FINISHED", threadId: "t1", runId: "r1" });
    expect(textOf(reader)).toBe("Hello");
  });

  test("continues after Last-Event-ID at any node, and starts nothing", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    await using first = await openRun(platform.node, TANSTACK);
    const { worker, ref } = await workOn(platform, first);
    await append(worker, started(), delta("Hel"));
    for (let frames = 0; frames < 3; frames++) await first.nextFrame();
    first.cut();
    await using rest = await openRun(other, TANSTACK, { lastEventId: first.lastEventId });
    expect(rest.headers["reprise-generation-id"]).toBe(ref.generation);
    await append(worker, delta("lo"), completed());
    expect(await rest.ended).toBe("clean");
    expect(rest.frames[0]?.id).toBe("3");
    expect(textOf(first) + textOf(rest)).toBe("Hello");
    await using whole = await readRun(other, `${TANSTACK}?offset=-1&runId=r1`);
    expect([await whole.ended, whole.frames]).toEqual(["clean", [...first.frames, ...rest.frames]]);
    expect(whole.frames.length).toBeGreaterThan(0);
    expect(whole.headers["reprise-generation-id"]).toBe(ref.generation);
  });

  test("is had in pages of what there is by now, with the numbers of the stream", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, TANSTACK);
    const { worker, ref } = await workOn(platform, reader);
    const page = async (offset: string) => {
      const url = `${platform.node.url}${TANSTACK}?runId=r1&offset=${offset}`;
      const { status, headers, json } = await call(url, { headers: { accept: "application/json" } });
      expect([status, headers.get("reprise-generation-id")]).toEqual([200, ref.generation]);
      return (json as { chunks: { id: string; chunk: object }[] }).chunks;
    };
    expect(await page("-1")).toEqual([]);
    const long = "x".repeat(100_000);
    await append(worker, started(), delta(long), delta(long), delta(long), delta(long));
    for (let frames = 0; frames < 6; frames++) await reader.nextFrame();
    const first = await page("-1");
    expect(first.length).toBeLessThan(reader.frames.length);
    await append(worker, delta("end"), completed());
    expect(await reader.ended).toBe("clean");
    const pages = [...first];
    for (let next = first; next.length > 0; pages.push(...next)) next = await page(pages.at(-1)!.id);
    expect(pages).toEqual(reader.frames.map(({ id, data }) => ({ id, chunk: JSON.parse(data) as object })));
  });

  test("whose client has its end and comes back is told the end again, without an id", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, TANSTACK);
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), completed());
    expect(await reader.ended).toBe("clean");
    await using again = await openRun(platform.node, TANSTACK, { lastEventId: reader.lastEventId });
    expect(await again.ended).toBe("clean");
    expect(again.frames.map(({ id }) => id)).toEqual([""]);
    expect(eventsOf(again)).toEqual([eventsOf(reader).at(-1)]);
  });

  test("is joined by a POST of the same input, from its beginning; another input is a conflict", async () => {
    await using platform = await openPlatform();
    await using first = await openRun(platform.node, TANSTACK);
    const { worker } = await workOn(platform, first);
    await using second = await openRun(platform.node, TANSTACK);
    expect(second.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hi"), completed());
    expect([await second.ended, textOf(second)]).toEqual(["clean", "Hi"]);
    const { status, json } = await refusedRun(platform.node, TANSTACK, {
      body: { context: [{ description: "a", value: "b" }] },
    });
    expect([status, json]).toMatchObject([409, { error: { code: "idempotency_conflict" } }]);
  });

  test("ends with its calls, which the client is told to run", async () => {
    await using platform = await openPlatform();
    const tools = [{ name: "look_up", description: "", parameters: { type: "object" } }];
    await using reader = await openRun(platform.node, TANSTACK, { body: { tools } });
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), toolCall("c1"), {
      ...completed(),
      finish_reason: "tool_calls",
    } as EventDraft);
    expect(await reader.ended).toBe("clean");
    expect(eventsOf(reader)).toContainEqual(
      expect.objectContaining({ type: "CUSTOM", name: "tool-input-available" }),
    );
    expect(eventsOf(reader).at(-1)).toMatchObject({
      outcome: { pendingToolCallIds: ["c1"] },
      metadata: { tanstack: { finishReason: "tool_calls" } },
    });
  });

  test("is over with `restarted` where shown text is taken back", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, TANSTACK);
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), delta("wrong"), rewind(1));
    await append(worker, delta("right"), completed());
    expect(await reader.ended).toBe("clean");
    expect(eventsOf(reader).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "restarted" });
  });
});

describe("a thread of TanStack AI", () => {
  const hydrate = (url: string, thread = "t1", key: string = KEYS.acme) =>
    call(`${url}${TANSTACK}?threadId=${thread}`, { key });

  test("says which of its runs continues", async () => {
    await using platform = await openPlatform();
    const { url } = platform.node;
    const none = { messages: [], activeRun: null, interrupts: null };
    expect(await hydrate(url)).toMatchObject({ status: 200, json: none });
    await using reader = await openRun(platform.node, TANSTACK);
    expect((await hydrate(url)).json).toEqual({ ...none, activeRun: { runId: "r1" } });
    expect((await hydrate(url, "t2")).json).toEqual(none);
    expect((await hydrate(url, "t1", KEYS.beta)).json).toEqual(none);
    const { worker } = await workOn(platform, reader);
    await append(worker, started(), completed());
    expect(await reader.ended).toBe("clean");
    expect((await hydrate(url)).json).toEqual(none);
  });

  test("is stopped by a call of its own", async () => {
    await using platform = await openPlatform();
    const stop = (thread: string) =>
      call(`${platform.node.url}${TANSTACK}/${thread}/stop`, { method: "POST" });
    await using reader = await openRun(platform.node, TANSTACK);
    expect(await stop("t1")).toMatchObject({ status: 200, json: { status: "cancelled" } });
    expect(await reader.ended).toBe("clean");
    expect(eventsOf(reader).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "cancelled" });
    expect((await stop("t2")).status).toBe(204);
  });
});

describe("what a client of TanStack AI can't ask for", () => {
  test("is refused by its name", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const refusals: [Parameters<typeof refusedRun>[2], number, object][] = [
      [{ headers: { "idempotency-key": "k" } }, 400, { param: "Idempotency-Key" }],
      [{ headers: { "x-run-id": "r2" } }, 400, { param: "X-Run-Id" }],
      [{ headers: { "last-event-id": "x" } }, 400, { code: "cursor_invalid" }],
      [{ headers: { "last-event-id": "1" } }, 404, { code: "generation_not_found", param: "runId" }],
      [{ body: { forwardedProps: { model: "nosuch" } } }, 404, { code: "model_not_found" }],
    ];
    for (const [options, status, error] of refusals)
      expect(await refusedRun(node, TANSTACK, options)).toMatchObject({ status, json: { error } });
    for (const [query, status, error] of [
      ["", 400, { param: "runId" }],
      ["?runId=r1&threadId=t1", 400, { param: "runId" }],
      ["?runId=r9", 404, { code: "generation_not_found" }],
      ["?runId=r1&offset=now", 400, { code: "cursor_invalid", param: "offset" }],
    ] as const)
      expect(await call(`${node.url}${TANSTACK}${query}`)).toMatchObject({ status, json: { error } });
  });

  test("is a run of another tenant", async () => {
    await using platform = await openPlatform();
    await using reader = await openRun(platform.node, TANSTACK);
    await using other = await openRun(platform.node, TANSTACK, { key: KEYS.beta });
    expect(other.headers["reprise-generation-id"]).not.toBe(reader.headers["reprise-generation-id"]);
  });

  test("needs the roles create and read", async () => {
    await using platform = await openPlatform();
    const { status } = await call(`${platform.node.url}${TANSTACK}`, { body: INPUT, key: KEYS.acmeCreator });
    expect(status).toBe(403);
  });
});
