import type { KnownEvent } from "@reprise/protocol";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { cacheSaltOf } from "../engines/openai/request/cache-salt.ts";
import { content, DONE, finish, usage } from "../engines/testing/chat-frames.ts";
import type { Answer } from "../engines/testing/misbehaving-server.ts";
import { startReplicaWorld } from "../engines/testing/openai-world.ts";
import { attemptsIn } from "../testing/drafts.ts";
import { openWorld, textOf, type World } from "../testing/world.ts";

/* A model with several servers, one of which is lost while it speaks, against a worker and a broker. */

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

const LIMIT_MS = 60_000;
/** From then on a limit strikes when a test lets its time pass, however long a busy machine takes for all else. */
const stopClock = () => vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });

const REST: Answer = { body: [content(" a time"), finish(), usage(9, 2), DONE] };
const speaking = (end: "cut" | "never"): Answer => ({ body: [content("Once"), content(" upon")], end });

/** Which of two servers a generation has met first, and the other one. */
async function openTwo(first: Answer) {
  const servers = await startReplicaWorld(2, { continuation: "continue_final_message" });
  for (const server of servers.servers) {
    server.willAnswer(first);
    server.willAnswer(REST);
  }
  const met = Promise.race(servers.servers.map((server) => server.nextRequest().then(() => server)));
  return {
    ...servers,
    /** Resolves with the server that speaks, and the one that does not. */
    async whoSpeaks() {
      const speaks = await met;
      return { speaks, other: servers.servers.find((server) => server !== speaks)! };
    },
  };
}

const hasSaid = (text: string) => (events: KnownEvent[]) => textOf(events) === text;

test("a server that is killed in mid-stream is taken over from by another one, after the exact prefix", async () => {
  await using two = await openTwo(speaking("never"));
  const ref = await world.submit();
  const running = world.run(ref, two.engine);
  const { speaks, other } = await two.whoSpeaks();
  // Of the other one the first answer is the rest.
  other.willAnswerFirst(REST);
  await world.until(ref, hasSaid("Once upon"));
  await speaks[Symbol.asyncDispose]();
  expect(await running).toBe("completed");
  const events = await world.read(ref);
  expect(textOf(events)).toBe("Once upon a time");
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "engine_failed"],
  ]);
  expect(events.map(({ type }) => type)).not.toContain("output.rewind");
  expect(other.requests.map(({ body }) => body)).toMatchObject([
    {
      continue_final_message: true,
      messages: [{ role: "user" }, { role: "assistant", content: "Once upon" }],
    },
  ]);
});

test("a server that falls silent in mid-stream is left for another one, and not asked again", async () => {
  await using two = await openTwo(speaking("never"));
  const between_tokens = { after_ms: LIMIT_MS, answer: "retry" } as const;
  const ref = await world.submit({ policy: { timeouts: { between_tokens } } });
  stopClock();
  const running = world.run(ref, two.engine);
  const { speaks, other } = await two.whoSpeaks();
  other.willAnswerFirst(REST);
  await world.until(ref, hasSaid("Once upon"));
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  expect(await running).toBe("completed");
  const events = await world.read(ref);
  expect(textOf(events)).toBe("Once upon a time");
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "timeout"],
  ]);
  expect([speaks.requests.length, other.requests.length]).toEqual([1, 1]);
});

test("a server that keeps prompts apart by tenant is told whose this one is", async () => {
  await using two = await startReplicaWorld(2, { dialect: "vllm" });
  two.willAnswer([REST, REST]);
  const ref = await world.submit();
  expect(await world.run(ref, two.engine)).toBe("completed");
  const [request] = two.servers.flatMap(({ requests }) => requests);
  expect(request!.body).toMatchObject({ cache_salt: cacheSaltOf("tenant", ref.tenant) });
});

test("a first token that is late is waited for at each server once", async () => {
  await using two = await startReplicaWorld(2);
  two.willAnswer([{ end: "silent" }, { end: "silent" }], 3);
  const first_token = { after_ms: LIMIT_MS, answer: "retry" } as const;
  const ref = await world.submit({ policy: { max_attempts: 3, timeouts: { first_token } } });
  stopClock();
  const [one, other] = two.servers.map((server) => server.nextRequest());
  const running = world.run(ref, two.engine);
  await Promise.race([one, other]);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  await Promise.all([one, other]);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  expect(await running).toBe("failed");
  expect(two.asked()).toEqual([1, 1]);
});
