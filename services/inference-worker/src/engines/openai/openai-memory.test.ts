import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { EngineRequest } from "../engine.ts";
import { content, ROLE } from "../testing/chat-frames.ts";
import { REQUEST, startOpenaiWorld } from "../testing/openai-world.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const REQUESTS = 8;
const BYTES = 1_000_000;

test("a request is not in memory while its answer comes, neither as it was nor as it was sent", async () => {
  await using world = await startOpenaiWorld();
  const begin = async () => {
    const request: EngineRequest = { ...REQUEST, input: "x".repeat(BYTES) };
    world.server.willAnswer({ body: [ROLE, content("Hel")], end: "never" });
    const { events, abort } = world.start(request);
    await events.next();
    return { events, abort, ref: new WeakRef(request) };
  };
  const { arrayBuffers: before } = process.memoryUsage();
  const runs = [];
  for (let i = 0; i < REQUESTS; i++) runs.push(await begin());
  // A weak reference is strong until the turn of the event loop in which it was made is over.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(runs.filter(({ ref }) => ref.deref() !== undefined)).toEqual([]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((REQUESTS * BYTES) / 2);
  for (const { abort } of runs) abort.abort();
});
