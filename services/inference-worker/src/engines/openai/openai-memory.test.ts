import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import type { EngineRequest } from "../engine.ts";
import { content, ROLE } from "../testing/chat-frames.ts";
import { REQUEST, startOpenaiWorld } from "../testing/openai-world.ts";

/* What is referenced, not how large the process is: that says little. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const REQUESTS = 8;
const BYTES = 1_000_000;

/** The memory of each large piece of a body that undici sends. */
function watchBodies(): readonly WeakRef<object>[] {
  const sent: WeakRef<object>[] = [];
  const channel = "undici:request:bodyChunkSent";
  const add = (message: unknown) => {
    const { chunk } = message as { chunk: Uint8Array };
    if (chunk.length >= BYTES) sent.push(new WeakRef(chunk.buffer));
  };
  subscribe(channel, add);
  onTestFinished(() => void unsubscribe(channel, add));
  return sent;
}

const isHeld = (ref: WeakRef<object>) => ref.deref() !== undefined;

test("a request is not in memory while its answer comes, neither as it was nor as it was sent", async () => {
  await using world = await startOpenaiWorld();
  const sent = watchBodies();
  const begin = async () => {
    const request: EngineRequest = { ...REQUEST, input: "x".repeat(BYTES) };
    world.server.willAnswer({ body: [ROLE, content("Hel")], end: "never" });
    const { events, abort } = world.start(request);
    await events.next();
    return { events, abort, ref: new WeakRef(request) };
  };
  const runs = [];
  for (let i = 0; i < REQUESTS; i++) runs.push(await begin());
  // A weak reference is strong until the turn of the event loop in which it was made is over.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(runs.filter(({ ref }) => isHeld(ref))).toEqual([]);
  expect(sent).toHaveLength(REQUESTS);
  expect(sent.filter(isHeld)).toEqual([]);
  for (const { abort } of runs) abort.abort();
});
