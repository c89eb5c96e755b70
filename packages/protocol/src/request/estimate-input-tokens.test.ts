import { expect, test } from "vitest";
import { estimateInputTokens } from "./estimate-input-tokens.ts";
import { type GenerationRequest, parseGenerationRequest } from "./request.ts";

const media = (type: string, bytes: number) =>
  `data:${type};base64,${Buffer.alloc(bytes).toString("base64")}`;
const user = (...content: object[]) => [{ role: "user", content }];
const estimate = (input: unknown) => {
  const request: GenerationRequest = parseGenerationRequest({ model: "m", input });
  return estimateInputTokens(request);
};

test("a text counts a token for four bytes, alone, as a message and as parts", () => {
  const text = "é".repeat(20);
  expect([estimate(text), estimate([{ role: "user", content: text }])]).toEqual([10, 10]);
  expect(estimate(user({ type: "text", text: text.slice(10) }, { type: "text", text: text.slice(10) }))).toBe(
    10,
  );
});

test("calls, answers and thoughts count with their texts", () => {
  const call = { call_id: "c", name: "name", arguments: "12345678" };
  const asked = [{ role: "assistant", reasoning: "1234", tool_calls: [call] }];
  expect(estimate(asked)).toBe(4);
  expect(estimate([...asked, { role: "tool", call_id: "c", output: "12345678" }])).toBe(6);
});

test("an image counts by how closely it is looked at, not by its bytes; audio and files by their bytes", () => {
  const image = (detail: string) => user({ type: "image", url: media("image/png", 300_000), detail });
  expect([estimate(image("high")), estimate(image("low"))]).toEqual([1_000, 85]);
  const inBudget = estimate(user({ type: "audio", url: media("audio/mpeg", 30_000) }));
  expect(inBudget).toBeGreaterThan(90);
  expect(inBudget).toBeLessThan(110);
  expect(estimate(user({ type: "file", url: media("application/pdf", 30_000) }))).toBeGreaterThan(700);
});
