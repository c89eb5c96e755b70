import { RepriseError } from "@reprise/protocol";
import { expect, it } from "vitest";
import { recordSpans } from "../testing/recorded-spans.ts";
import { inSpan } from "./tracing.ts";

it("ends the span with the work, of a failure with its code", async () => {
  const tracing = recordSpans();
  expect(await inSpan(tracing.start("good"), async () => 7)).toBe(7);
  const error = new RepriseError("broker_unavailable", "No answer.");
  await expect(inSpan(tracing.start("bad"), () => Promise.reject(error))).rejects.toBe(error);
  const foreign = new TypeError("a secret");
  await expect(inSpan(tracing.start("worse"), () => Promise.reject(foreign))).rejects.toBe(foreign);
  expect(tracing.spans.map(({ name, error: code }) => [name, code])).toEqual([
    ["good", undefined],
    ["bad", "broker_unavailable"],
    ["worse", "internal"],
  ]);
  expect(JSON.stringify(tracing.spans)).not.toContain("secret");
});
