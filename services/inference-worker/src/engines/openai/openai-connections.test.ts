import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { NO_PROGRESS } from "../engine.ts";
import { content, DONE, finish, ROLE } from "../testing/chat-frames.ts";
import type { Answer } from "../testing/misbehaving-server.ts";
import { REQUEST, startOpenaiWorld } from "../testing/openai-world.ts";

const HELLO: Answer = { body: [ROLE, content("Hel"), content("lo"), finish(), DONE] };
/** A stream that has sent one word and then nothing more. */
const ONE_WORD: Answer = { body: [ROLE, content("Hel")], end: "never" };
/** Longer than any test: what is closed in time is closed because it was told to be. */
const FOREVER = { lingerMs: 600_000, idleTimeoutMs: 600_000, headersTimeoutMs: 600_000 };

describe("the OpenAI engine", () => {
  test("sends one request after the other on the same connection", async () => {
    await using world = await startOpenaiWorld();
    for (let i = 0; i < 5; i++) {
      world.server.willAnswer(HELLO);
      await world.run();
      // A connection is not used again in the turn of the event loop in which its answer ended.
      await nextTurn();
    }
    expect(world.server.requests).toHaveLength(5);
    expect(world.server.connections).toBe(1);
  });

  test("keeps the connection of an answer that has had its last word but has not ended", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.server.willAnswer({ body: [...HELLO.body!, promise] });
    world.server.willAnswer(HELLO);
    expect((await world.run()).text).toBe("Hello");
    expect((await world.run()).text).toBe("Hello");
    expect(world.server.openConnections).toBe(2);
    resolve();
  });

  test("closes the connection of an answer that does not end within lingerMs of its last word", async () => {
    await using world = await startOpenaiWorld({ ...FOREVER, lingerMs: 1 });
    world.server.willAnswer({ ...HELLO, end: "never" });
    expect((await world.run()).error).toBeUndefined();
    await world.server.requests[0]!.closed;
  });

  test("closes the connection at once when its caller leaves the iteration", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer(ONE_WORD);
    const { signal } = new AbortController();
    for await (const event of world.engine.generate(REQUEST, { ...NO_PROGRESS, signal })) {
      expect(event).toEqual({ type: "text", text: "Hel" });
      break;
    }
    await world.server.requests[0]!.closed;
  });

  test("closes the connection at once when the upstream says that it has failed", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer({ body: ['data: {"error":"worker lost"}\n\n'], end: "never" });
    expect((await world.run()).error).toMatchObject({ code: "engine_failed" });
    await world.server.requests[0]!.closed;
  });

  test("fails what still runs when it is closed", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer(ONE_WORD);
    const { events } = world.start();
    await events.next();
    const next = events.next();
    await world.engine.close();
    await expect(next).rejects.toMatchObject({ code: "engine_failed" });
    await world.server.requests[0]!.closed;
  });
});

describe("the OpenAI engine, when its signal aborts,", () => {
  const reason = new Error("enough");

  test("before it begins sends no request", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    const { abort, events } = world.start();
    abort.abort(reason);
    await expect(events.next()).rejects.toBe(reason);
    expect(world.server.connections).toBe(0);
  });

  test("while it still connects throws the reason", async () => {
    // A server that never shakes hands.
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const options = { baseUrl: `https://127.0.0.1:${port}/v1`, connectTimeoutMs: 600_000 };
    await using world = await startOpenaiWorld({ ...FOREVER, ...options });
    const { abort, events } = world.start();
    const next = expect(events.next()).rejects.toBe(reason);
    const [socket] = (await once(silent, "connection")) as [Socket];
    abort.abort(reason);
    await next;
    socket.destroy();
    silent.close();
    await once(silent, "close");
  });

  test("before the answer begins throws the reason and closes the connection", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer({ end: "silent" });
    const { abort, events } = world.start();
    const next = expect(events.next()).rejects.toBe(reason);
    const { closed } = await world.server.nextRequest();
    abort.abort(reason);
    await next;
    await closed;
  });

  test("while a refusal is read throws the reason and closes the connection", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer({ status: 400, body: ["no"], end: "never" });
    const { abort, events } = world.start();
    const next = expect(events.next()).rejects.toBe(reason);
    const { answered, closed } = await world.server.nextRequest();
    await answered;
    abort.abort(reason);
    await next;
    await closed;
  });

  test("in mid-stream throws the reason and closes the connection", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer(ONE_WORD);
    const { abort, events } = world.start();
    expect(await events.next()).toMatchObject({ value: { text: "Hel" } });
    const next = events.next();
    abort.abort(reason);
    await expect(next).rejects.toBe(reason);
    await world.server.requests[0]!.closed;
  });

  test("while no event is requested closes the connection all the same, and yields nothing more", async () => {
    await using world = await startOpenaiWorld(FOREVER);
    world.server.willAnswer({ body: [[ROLE, content("Hel"), content("lo")].join("")], end: "never" });
    const { abort, events } = world.start();
    await events.next();
    abort.abort(reason);
    await world.server.requests[0]!.closed;
    await expect(events.next()).rejects.toBe(reason);
  });
});

/** An engine with one kept connection, and a server that will do these things with the requests that come now. */
async function startUsedWorld(...answers: Answer[]) {
  const world = await startOpenaiWorld(FOREVER);
  world.server.willAnswer(HELLO);
  await world.run();
  // A connection is not used again in the turn of the event loop in which its answer ended.
  await nextTurn();
  for (const answer of answers) world.server.willAnswer(answer);
  return world;
}

describe.each(["dropped", "closed"] as const)("a kept connection that is %s in place of an answer", (end) => {
  test("has its request sent once more, on a new connection", async () => {
    await using world = await startUsedWorld({ end }, HELLO);
    expect(await world.run()).toMatchObject({ text: "Hello", error: undefined });
    const { requests, connections } = world.server;
    expect(requests).toHaveLength(3);
    expect(requests[2]!.body).toEqual(requests[1]!.body);
    expect(connections).toBe(2);
  });

  test("has its request sent no more than twice", async () => {
    await using world = await startUsedWorld({ end }, { end }, HELLO);
    expect(await world.run()).toMatchObject({ events: [], error: { code: "engine_unavailable" } });
    expect(world.server.requests).toHaveLength(3);
  });
});

test.each(["dropped", "closed"] as const)(
  "a new connection that is %s in place of an answer has its request sent once: it may have felled the server",
  async (end) => {
    await using world = await startOpenaiWorld();
    world.server.willAnswer({ end });
    world.server.willAnswer(HELLO);
    expect((await world.run(REQUEST)).error).toMatchObject({ code: "engine_unavailable" });
    expect(world.server.requests).toHaveLength(1);
  },
);

test("a kept connection that is cut after the headers of an answer has its request sent once", async () => {
  await using world = await startUsedWorld({ end: "cut" }, HELLO);
  expect((await world.run()).error).toMatchObject({ code: "engine_failed" });
  expect(world.server.requests).toHaveLength(2);
});

test("a request that is sent once more does not go to another kept connection, which may be as dead", async () => {
  await using world = await startOpenaiWorld(FOREVER);
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  world.server.willAnswer(HELLO);
  world.server.willAnswer(HELLO);
  await Promise.all([world.run(), world.run()]);
  await nextTurn();
  world.server.willAnswer({ body: [first.promise, ...HELLO.body!] });
  world.server.willAnswer({ body: [second.promise], end: "dropped" });
  world.server.willAnswer(HELLO);
  const runs = [world.run(), world.run()];
  first.resolve();
  await runs[0];
  await nextTurn();
  second.resolve();
  expect((await runs[1]!).text).toBe("Hello");
  expect(world.server.connections).toBe(3);
});
