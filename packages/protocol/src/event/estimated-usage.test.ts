import { expect, test } from "vitest";
import { encodeEvent } from "./event-codec.ts";
import type { RequestedEvent } from "./event.ts";
import { asSeq, REQUEST_SEQ } from "../seq.ts";
import { DEFAULT_POLICY } from "../request/policy.ts";
import { usageAtEnd, withEstimatedInput } from "./estimated-usage.ts";

const UNKNOWN = { input_tokens: null, output_tokens: 3 };
const requested = {
  seq: REQUEST_SEQ,
  type: "generation.requested",
  tenant: "acme",
  generation: "gen_test",
  created_at: "2026-11-28T00:00:00.000Z",
  request: { model: "m", input: "x".repeat(40) },
  prompt: [{ items: [{ role: "system", content: "y".repeat(20) }] }],
  policy: DEFAULT_POLICY,
} satisfies RequestedEvent;
const first = encodeEvent(REQUEST_SEQ, requested);

test("an input that no engine has counted is estimated, with what came before it, and the usage says so", () => {
  expect(withEstimatedInput(UNKNOWN, requested)).toEqual({
    input_tokens: 15,
    estimated_input_tokens: 15,
    output_tokens: 3,
  });
});

test("an input that an engine has counted stays, as exact as it is", () => {
  const usage = { input_tokens: 7, output_tokens: 3 };
  expect(withEstimatedInput(usage, requested)).toBe(usage);
  expect(usageAtEnd({ usage }, first)).toBe(usage);
});

test("nothing is estimated for a generation without output, or a log that has lost its request", () => {
  const unread = { input_tokens: null, output_tokens: 0 };
  expect(usageAtEnd({ usage: unread }, first)).toBe(unread);
  const other = encodeEvent(asSeq(1), { type: "output.delta", text: "x" });
  expect(usageAtEnd({ usage: UNKNOWN }, other)).toBe(UNKNOWN);
  expect(usageAtEnd({ usage: UNKNOWN }, first)).toMatchObject({ estimated_input_tokens: 15 });
});
