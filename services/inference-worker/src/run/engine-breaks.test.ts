import { afterAll, beforeAll, expect, test } from "vitest";
import { content, DONE, finish, usage } from "../engines/testing/chat-frames.ts";
import { type Answer, startMisbehavingServer } from "../engines/testing/misbehaving-server.ts";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { attemptsIn } from "../testing/drafts.ts";
import { openWorld, type Submission, textOf, type World } from "../testing/world.ts";

/* A model server that breaks off, against a worker and a broker: as good as one that falls silent. */

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function openBreaking(continuation: "continue_final_message" | "none", ...answers: Answer[]) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startMisbehavingServer());
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "m", continuation });
  stack.defer(() => engine.close());
  for (const answer of answers) server.willAnswer(answer);
  const kept = stack.move();
  const run = async (submission?: Submission, by = engine) => {
    const ref = await world.submit(submission);
    await world.run(ref, by);
    return world.read(ref);
  };
  return { server, engine, run, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const REST: Answer = { body: [content(" upon"), finish(), usage(9, 1), DONE] };

test.each<[string, Answer]>([
  ["resets its connection", { body: [content("Once")], end: "cut" }],
  ["sends an error", { body: [content("Once"), 'data: {"error":{"code":500,"message":"no"}}\n\n'] }],
])("an engine that %s in mid-stream continues in the next attempt", async (_, broken) => {
  await using at = await openBreaking("continue_final_message", broken, REST);
  const events = await at.run();
  expect(textOf(events)).toBe("Once upon");
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "engine_failed"],
  ]);
  expect(at.server.requests[1]!.body).toMatchObject({
    messages: [{}, { role: "assistant", content: "Once" }],
  });
});

test("an engine that breaks before its first token is asked again", async () => {
  await using at = await openBreaking("none", { end: "dropped" }, REST);
  const events = await at.run();
  expect(textOf(events)).toBe(" upon");
  expect(attemptsIn(events)).toHaveLength(2);
});

test.each([429, 503])(
  "a %i that says when to come back is obeyed, and uses up no attempt",
  async (status) => {
    await using at = await openBreaking("none", { status, headers: { "retry-after-ms": "300" } }, REST);
    const events = await at.run({ policy: { max_attempts: 1 } });
    expect(textOf(events)).toBe(" upon");
    expect(attemptsIn(events)).toHaveLength(1);
  },
);

test("an engine that is silent beyond its headers' time is not sent the same prompt again", async () => {
  await using at = await openBreaking("none");
  const engine = createOpenaiEngine({ baseUrl: at.server.baseUrl, upstreamModel: "m", headersTimeoutMs: 50 });
  at.server.willAnswer({ end: "silent" });
  const events = await at.run({}, engine);
  expect(events.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "engine_unavailable" } });
  await expect.poll(() => at.server.requests).toHaveLength(1);
  await engine.close();
});

test("a generation whose slot another job has, and whose engine breaks off, is handed over before its next attempt", async () => {
  const broken: Answer = { body: [content("Once")], end: "cut" };
  await using at = await openBreaking("continue_final_message", broken, REST);
  const ref = await world.submit();
  let released = 0;
  const job = { hasLostSlot: () => at.server.requests.length > 0, release: () => void released++ };
  expect(await world.run(ref, at.engine, { job })).toBe("handed_over");
  expect([at.server.requests.length, released, textOf(await world.read(ref))]).toEqual([1, 1, "Once"]);
  await world.run(ref, at.engine);
  const events = await world.read(ref);
  expect(textOf(events)).toBe("Once upon");
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "engine_failed"],
  ]);
});
