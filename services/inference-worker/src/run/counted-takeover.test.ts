import type { EventDraft } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { content, DONE, finish, frame, usage } from "../engines/testing/chat-frames.ts";
import { type Answer, startMisbehavingServer } from "../engines/testing/misbehaving-server.ts";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { delta, started } from "../testing/drafts.ts";
import { openWorld, textOf, typesOf, type World } from "../testing/world.ts";

/* A takeover from a worker that is dead, at an engine that counts: limits and usage are the engine's, and no seam shows. */

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const begun: EventDraft = { type: "generation.started", attempt: 1, worker: "worker-dead", model: "fake" };
const counted = (text: string, tokens: number): EventDraft => ({
  type: "output.delta",
  text,
  tokens,
  input_tokens: 44,
});

/** A chunk as llama.cpp sends it, with the tokens of input and output so far. */
const piece = (fields: object, input: number, output: number) =>
  frame({
    choices: [{ index: 0, delta: fields }],
    timings: { cache_n: 1, prompt_n: input - 1, predicted_n: output },
  });

async function takeOver(history: readonly EventDraft[], answer: Answer, max_output_tokens?: number) {
  await using server = await startMisbehavingServer();
  await using stack = new AsyncDisposableStack();
  const engine = createOpenaiEngine({
    baseUrl: server.baseUrl,
    upstreamModel: "m",
    continuation: "continue_final_message",
  });
  stack.defer(() => engine.close());
  server.willAnswer(answer);
  const request = max_output_tokens === undefined ? {} : { max_output_tokens };
  const ref = await world.submit({ history, request });
  await world.run(ref, engine);
  const events = await world.read(ref);
  return { events, body: server.requests[0]!.body };
}

test("the limit is what the engine has counted, not how many pieces came, and the input is counted once", async () => {
  const rest: Answer = { body: [piece({ content: " upon" }, 55, 2), finish(), usage(55, 2), DONE] };
  const { events, body } = await takeOver([begun, counted("Once", 11)], rest, 120);
  expect(textOf(events)).toBe("Once upon");
  expect(body).toMatchObject({ max_tokens: 109, continue_final_message: true });
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 44, output_tokens: 13 } });
});

test("after reasoning the answer begins again, with the whole limit", async () => {
  const reasoned: EventDraft = { type: "reasoning.delta", text: "Hm.", tokens: 39, input_tokens: 44 };
  const anew: Answer = {
    body: [
      piece({ reasoning_content: "So." }, 44, 3),
      piece({ content: "Anew" }, 44, 5),
      finish(),
      usage(44, 5),
      DONE,
    ],
  };
  const { events, body } = await takeOver([begun, reasoned, delta("Once", 2)], anew, 120);
  expect(typesOf(events)).toContain("output.rewind");
  expect(textOf(events)).toBe("Anew");
  expect(body).toMatchObject({ max_tokens: 120, messages: [{ role: "user" }] });
  expect(body).not.toHaveProperty("continue_final_message");
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 44, output_tokens: 46 } });
});

test("after pieces that the engine did not count a limited answer begins again, and an unlimited one continues", async () => {
  const answer: Answer = { body: [content("Once upon"), finish(), DONE] };
  const limited = await takeOver([started(1), delta("Once", 2)], answer, 120);
  expect(limited.body).toMatchObject({ max_tokens: 120, messages: [{ role: "user" }] });
  const rest: Answer = { body: [content(" upon"), finish(), DONE] };
  const unlimited = await takeOver([started(1), delta("Once", 2)], rest);
  expect(textOf(unlimited.events)).toBe("Once upon");
});

test("the engine's counts are in the log, where another worker finds them", async () => {
  const answer: Answer = {
    body: [
      piece({ content: "Once" }, 44, 3),
      piece({ content: " upon" }, 44, 7),
      finish(),
      usage(44, 7),
      DONE,
    ],
  };
  const { events } = await takeOver([], answer, 120);
  const deltas = events.flatMap((event) => (event.type === "output.delta" ? [event] : []));
  expect(deltas[0]).toMatchObject({ input_tokens: 44 });
  expect(deltas.reduce((sum, { tokens = 1 }) => sum + tokens, 0)).toBe(7);
});
