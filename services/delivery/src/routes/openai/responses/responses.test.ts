import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  delta,
  KEYS,
  openPlatform,
  openWorker,
  started,
  toolCall,
} from "../../../testing/platform.ts";
import {
  askResponse,
  beginResponse,
  ENDED_WITH_CALLS,
  endedResponse,
  eventsOf,
  openStream,
  refOf,
  type ResponseJson,
  textOf,
} from "./responses.fixture.ts";

describe("a response in the background", () => {
  test("is answered as it begins, and can be asked for while it continues and when it has ended", async () => {
    await using platform = await openPlatform();
    const { id, url, response, worker } = await beginResponse(platform, { metadata: { team: "a" } });
    expect(id).toMatch(/^resp_[0-9a-v]{26}\d$/);
    expect(response).toMatchObject({
      object: "response",
      status: "queued",
      output: [],
      metadata: { team: "a" },
    });
    await append(worker, started(1), delta("Hel"));
    expect((await call(url)).json).toMatchObject({
      id,
      status: "in_progress",
      output: [{ status: "in_progress" }],
    });
    await append(worker, delta("lo"), completed());
    const { json } = await call(url);
    expect(json).toMatchObject({ id, status: "completed", instructions: null, metadata: { team: "a" } });
    expect(textOf(json as ResponseJson)).toBe("Hello");
    const native = `${platform.node.url}/v1/responses/${refOf(id).generation}`;
    expect((await call(native)).json).toEqual(json);
  });

  test("is the same response for the same Idempotency-Key", async () => {
    await using platform = await openPlatform();
    const headers = { "idempotency-key": "order-7" };
    const { id } = await beginResponse(platform, {}, { headers });
    const again = await askResponse(platform.node, { background: true }, { headers });
    expect([again.status, (again.json as ResponseJson).id]).toEqual([200, id]);
    const other = await askResponse(platform.node, { background: true, input: "other" }, { headers });
    expect(other).toMatchObject({ status: 409, json: { error: { code: "idempotency_conflict" } } });
  });
});

describe("a response without a stream", () => {
  test("is answered when it has ended", async () => {
    await using platform = await openPlatform();
    const headers = { "idempotency-key": "order-8" };
    const whole = askResponse(platform.node, {}, { headers });
    const { worker } = await beginResponse(platform, {}, { headers });
    await append(worker, started(1), delta("Hello"), toolCall("c1"), ENDED_WITH_CALLS);
    const { status, json } = await whole;
    expect([status, textOf(json as ResponseJson)]).toEqual([200, "Hello"]);
    expect(json).toMatchObject({
      status: "completed",
      output: [{ type: "message" }, { type: "function_call", call_id: "c1", name: "look_up" }],
    });
  });
});

describe("a streamed response", () => {
  test("has numbered events, continues from any of them on any node, and has nothing after the last", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    await using first = await openSseReader(`${platform.node.url}/v1/responses`, {
      method: "POST",
      headers: authorization(),
      body: { model: "sim", input: "hello", stream: true },
    });
    expect([first.status, first.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const generation = first.headers["reprise-generation-id"] as string;
    const worker = await openWorker(platform.log, refOf(generation));
    await append(worker, started(1), delta("Hel"), delta("lo"), completed());
    expect(await first.ended).toBe("clean");
    const whole = eventsOf(first);
    expect(whole.map(({ sequence_number: number }) => number)).toEqual(whole.map((_, i) => i));
    expect(whole.map(({ delta: text = "" }) => text).join("")).toBe("Hello");
    expect(whole.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
    expect(first.frames.map(({ event }) => event)).toEqual(whole.map(({ type }) => type));
    const at = `${other.url}/v1/responses/${whole[0]!.response!.id}?stream=true`;
    await using again = await openStream(at);
    expect(await again.ended).toBe("clean");
    expect(again.frames).toEqual(first.frames);
    for (const after of [0, 4, whole.length - 1]) {
      await using rest = await openStream(`${at}&starting_after=${after}`);
      expect([rest.status, await rest.ended]).toEqual([200, "clean"]);
      expect(rest.frames).toEqual(first.frames.slice(after + 1));
    }
    const beyond = await call(`${at}&starting_after=${whole.length}`);
    expect(beyond).toMatchObject({
      status: 400,
      json: { error: { code: "cursor_invalid", param: "starting_after" } },
    });
  });

  test("that was created without a stream is streamed all the same, live", async () => {
    await using platform = await openPlatform();
    const { url, worker } = await beginResponse(platform);
    await using reader = await openStream(`${url}?stream=true&include[]=reasoning.encrypted_content`);
    await append(worker, started(1), delta("Hi"), completed());
    expect(await reader.ended).toBe("clean");
    expect(eventsOf(reader).at(-1)?.type).toBe("response.completed");
  });
});

describe("a cancel", () => {
  test("is answered with the cancelled response, however often it is sent, and ends its streams", async () => {
    await using platform = await openPlatform();
    const { url, worker } = await beginResponse(platform);
    await append(worker, started(1), delta("Hel"));
    await using reader = await openStream(`${url}?stream=true`);
    for (let i = 0; i < 2; i++) {
      const { status, json } = await call(`${url}/cancel`, { method: "POST" });
      expect([status, textOf(json as ResponseJson)]).toEqual([200, "Hel"]);
      expect(json).toMatchObject({ status: "cancelled", output: [{ status: "incomplete" }] });
    }
    expect(await reader.ended).toBe("clean");
    expect(eventsOf(reader).at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "cancelled" },
    });
    const without = await call(`${url}/cancel`, { method: "POST", key: KEYS.acmeCanceller });
    expect(without).toMatchObject({ status: 200, json: { status: "cancelled", output: [] } });
  });

  test("of a response that has ended is answered with that", async () => {
    await using platform = await openPlatform();
    const { url } = await endedResponse(platform, "Hello");
    const { status, json } = await call(`${url}/cancel`, { method: "POST" });
    expect([status, json]).toMatchObject([200, { status: "completed" }]);
  });
});

describe("what is wrong with a request", () => {
  test("is said in the form of OpenAI's API, and nothing is created", async () => {
    await using platform = await openPlatform();
    const refused = await askResponse(platform.node, { tools: [{ type: "web_search" }] });
    expect(refused.status).toBe(400);
    expect(refused.json).toMatchObject({ error: { code: "invalid_request", param: "tools.0.type" } });
    expect(refused.headers.get("reprise-generation-id")).toBeNull();
  });

  test.each([
    ["stream=yes", "stream"],
    ["starting_after=3", "starting_after"],
    ["stream=true&starting_after=x", "starting_after"],
    ["colour=red", "colour"],
  ])("GET ?%s is refused by the parameter", async (query, param) => {
    await using platform = await openPlatform();
    const { url } = await endedResponse(platform, "Hello");
    const { status, json } = await call(`${url}?${query}`);
    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });
});

test("a key that creates and does not read has no response", async () => {
  await using platform = await openPlatform();
  const { status } = await askResponse(platform.node, { background: true }, { key: KEYS.acmeCreator });
  expect(status).toBe(403);
});
