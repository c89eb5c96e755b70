import { type GenerationRequest, RepriseError } from "@reprise/client";
import { expect, it } from "vitest";
import {
  COMPLETED,
  createFakeClient,
  createFakeGeneration,
  type FakeGeneration,
  STARTED,
} from "../fake-generation.fixture.ts";
import { runCall } from "./run-call.ts";

const TURN = { role: "assistant", content: "Hi" } as const;
const SEALED = { encrypted: "xyz" };
const REQUEST: GenerationRequest = {
  model: "sim",
  input: [
    { role: "user", content: "Hi" },
    { ...TURN, reasoning: [SEALED, { text: "hm" }] },
    { ...TURN, reasoning: [{ text: "so" }] },
  ],
};

const refused = (param: string, code: RepriseError["code"] = "capability_unsupported") =>
  createFakeGeneration([], { failure: new RepriseError(code, "No.", { param, retryable: false }) });
const answered = () => createFakeGeneration([STARTED, COMPLETED]);

/** The inputs that were asked for until a run had events, or has failed. */
async function inputsOf(...generations: readonly FakeGeneration[]) {
  const { client, runs } = createFakeClient(...generations);
  const run = runCall(client, REQUEST, { idempotencyKey: "k" });
  const first = await run.next().catch((error: unknown) => error);
  expect(runs.every(([, options]) => JSON.stringify(options) === '{"idempotencyKey":"k"}')).toBe(true);
  const requests = runs.map(([request]) => request as GenerationRequest);
  expect(run.request).toEqual(requests.at(-1));
  return { first, inputs: requests.map(({ input }) => input.slice(1)) };
}

it("what a model takes is asked for once", async () => {
  const { first, inputs } = await inputsOf(answered());
  expect(first).toMatchObject({ value: { type: "generation.started" } });
  expect(inputs).toEqual([REQUEST.input.slice(1)]);
});

it("reasoning that a model does not take back is left out, each form by itself", async () => {
  const withoutText = [{ ...TURN, reasoning: [SEALED] }, TURN];
  expect((await inputsOf(refused("input.1.reasoning"), answered())).inputs.at(-1)).toEqual(withoutText);
  const { first, inputs } = await inputsOf(
    refused("input.1.reasoning.0"),
    refused("input.1.reasoning"),
    answered(),
  );
  expect(first).toMatchObject({ value: { type: "generation.started" } });
  expect(inputs.slice(1)).toEqual([
    [
      { ...TURN, reasoning: [{ text: "hm" }] },
      { ...TURN, reasoning: [{ text: "so" }] },
    ],
    [TURN, TURN],
  ]);
});

it.each([
  ["another field", [refused("reasoning.effort")]],
  ["another error", [refused("input.1.reasoning", "invalid_request")]],
  ["the same again", [refused("input.1.reasoning"), refused("input.1.reasoning")]],
])("%s that is refused is the call's error", async (_, generations) => {
  const { first, inputs } = await inputsOf(...generations);
  expect(first).toBeInstanceOf(RepriseError);
  expect(inputs).toHaveLength(generations.length);
});
