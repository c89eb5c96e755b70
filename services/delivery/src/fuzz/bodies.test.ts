import {
  effectivePolicySchema,
  encodeModelName,
  LIMITS,
  parseGenerationRequest,
  parseToolResult,
  tightenPolicy,
} from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonBody } from "../bodies/parse-json-body.ts";
import { fuzz, nearly, nearlyText } from "./fuzz.fixture.ts";

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const text = fc.string({ minLength: 1, maxLength: 20 });
const open = { requiredKeys: [] };
const rule = fc.oneof(
  fc.constantFrom("cards", "secrets", "personal-data"),
  fc.record({
    set: fc.constantFrom("cards", "secrets"),
    action: fc.constantFrom("flag", "redact", "review", "halt"),
  }),
  fc.record({ terms: fc.array(text, { minLength: 1, maxLength: 3 }), name }),
  fc.record({ pattern: text, max_length: fc.integer({ min: 1, max: 1_024 }) }),
  fc.record({ classifier: name, threshold: fc.double({ min: 0, max: 1, noNaN: true }) }),
);
const policy = fc.record(
  {
    max_attempts: fc.integer({ min: 1, max: 10 }),
    on_worker_loss: fc.constantFrom("continue", "restart", "fail"),
    on_disconnect: fc.oneof(fc.constant("keep"), fc.record({ cancel_after: fc.nat(86_400_000) })),
    timeouts: fc.record({ queue: fc.record({ after_ms: fc.integer({ min: 1, max: 86_400_000 }) }) }, open),
    pace: fc.record({ max_lead_tokens: fc.integer({ min: 1, max: 1_000_000 }) }),
    delivery: fc.record({ min_interval_ms: fc.nat(10_000) }),
    moderation: fc.record(
      { mode: fc.constantFrom("off", "observe", "retract", "gate"), rules: fc.array(rule, { maxLength: 3 }) },
      open,
    ),
  },
  open,
);
const tool = fc.record(
  { type: fc.constant("function"), name, description: text, parameters: fc.dictionary(text, fc.jsonValue()) },
  { requiredKeys: ["name"] },
);
const message = fc.record({
  role: fc.constantFrom("system", "developer", "user", "assistant"),
  content: fc.string(),
});
const request = fc.record(
  {
    model: fc.constantFrom("sim", "meta-llama/Llama-3.1", "🙂"),
    input: fc.oneof(text, fc.array(message, { minLength: 1, maxLength: 3 })),
    max_output_tokens: fc.integer({ min: 1, max: LIMITS.outputTokens }),
    temperature: fc.double({ min: 0, max: LIMITS.temperature, noNaN: true }),
    stop: fc.array(text, { minLength: 1, maxLength: LIMITS.stopSequences }),
    seed: fc.nat(LIMITS.seed),
    tools: fc.uniqueArray(tool, { selector: (each) => each.name, minLength: 1, maxLength: 3 }),
    options: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })),
    metadata: fc.dictionary(text, fc.string(), { maxKeys: 4 }),
    subject: text,
    end_user: name,
    policy,
  },
  { requiredKeys: ["model", "input"] },
);

/** What is stored is what was taken: as JSON it is taken again, and is the same. */
function expectSameAgain<T>(parse: (value: unknown) => T, value: T): void {
  const json = JSON.stringify(value);
  expect(JSON.stringify(parse(JSON.parse(json)))).toBe(json);
}

test("parseGenerationRequest takes what a log can hold, or names what is wrong", () => {
  fuzz(nearly(request), {
    parse: parseGenerationRequest,
    check(taken) {
      expectSameAgain(parseGenerationRequest, taken);
      encodeModelName(taken.model);
      effectivePolicySchema.parse(tightenPolicy({}, taken.policy ?? {}));
      const { input, max_output_tokens = 1, stop = [], tools = [], metadata = {} } = taken;
      expect([
        input.length > 0,
        max_output_tokens >= 1 && max_output_tokens <= LIMITS.outputTokens,
        stop.length <= LIMITS.stopSequences,
        new Set(tools.map((each) => each.name)).size === tools.length,
        Object.values(metadata).every((value) => value.length <= LIMITS.metadataValueLength),
      ]).not.toContain(false);
    },
  });
});

test("parseToolResult takes what a log can hold, or names what is wrong", () => {
  const deep = fc
    .integer({ min: 28, max: 36 })
    .map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown);
  const output = fc.oneof(fc.jsonValue(), deep);
  fuzz(nearly(fc.record({ call_id: text, output })), {
    parse: parseToolResult,
    check(taken) {
      expectSameAgain(parseToolResult, taken);
      expect(JSON.stringify(taken.output).length).toBeLessThanOrEqual(LIMITS.toolOutputBytes);
    },
  });
});

test("parseJsonBody takes JSON without names of a prototype, or says what is wrong", () => {
  const names = fc.constantFrom("a", "__proto__", "constructor", "prototype", "\\u005f_proto__", "\\u0061");
  const object = fc.tuple(names, fc.json()).map(([each, value]) => `{"${each}":${value}}`);
  const nested = fc.tuple(names, object).map(([each, value]) => `{"${each}":[${value},${value}]}`);
  const texts = fc.oneof(
    fc.json(),
    object,
    nested,
    fc.tuple(names, nested).map(([a, b]) => `{"${a}":${b}}`),
  );
  fuzz(nearlyText(fc.tuple(fc.constantFrom("", "\ufeff"), texts).map((parts) => parts.join(""))), {
    parse: parseJsonBody,
    check(value, body) {
      expect(value).toEqual(JSON.parse(body.replace(/^\ufeff/, "")));
      expect(holdsPrototype(value)).toBe(false);
    },
  });
});

function holdsPrototype(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, part]) =>
      key === "__proto__" ||
      (key === "constructor" &&
        typeof part === "object" &&
        part !== null &&
        Object.hasOwn(part, "prototype")) ||
      holdsPrototype(part),
  );
}
