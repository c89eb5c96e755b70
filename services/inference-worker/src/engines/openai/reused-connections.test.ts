import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { content, DONE, finish, ROLE } from "../testing/chat-frames.ts";
import type { Answer } from "../testing/misbehaving-server.ts";
import { REQUEST, startOpenaiWorld } from "../testing/openai-world.ts";

const HELLO: Answer = { body: [ROLE, content("Hello"), finish(), DONE] };
const FOREVER = { lingerMs: 600_000, idleTimeoutMs: 600_000, headersTimeoutMs: 600_000 };

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

  test("has its request's second connection closed at once when the signal aborts", async () => {
    await using world = await startUsedWorld({ end }, { end: "silent" });
    const { abort, events } = world.start();
    const reason = new Error("enough");
    const next = expect(events.next()).rejects.toBe(reason);
    await world.server.nextRequest();
    const { closed } = await world.server.nextRequest();
    abort.abort(reason);
    await next;
    await closed;
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

test("a kept connection that is cut behind the headers of an answer has its request sent once", async () => {
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

test("a connection that was made for a request's second time is not kept for another one", async () => {
  await using world = await startUsedWorld({ end: "dropped" }, HELLO, HELLO);
  await world.run();
  await world.run();
  await nextTurn();
  expect(world.server.connections).toBe(3);
  world.server.willAnswer({ end: "dropped" });
  world.server.willAnswer(HELLO);
  await world.run();
  expect(world.server.connections).toBe(4);
});
