import {
  assertServable,
  CAPABILITIES,
  CONVERSATION_LIMITS,
  effectivePolicySchema,
  encodeModelName,
  LIMITS,
  needsOf,
  parseConversationRequest,
  parseGenerationRequest,
  parseToolResult,
  partsOf,
  RepriseError,
  tightenPolicy,
} from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonBody } from "../bodies/parse-json-body.ts";
import { anyRequest, history, text } from "./any-request.fixture.ts";
import { fuzz, nearly, nearlyText, SEED } from "./fuzz.fixture.ts";

/** Asserts that a stored value is read back unchanged: it parses again from its JSON, with the same result. */
function expectSameAgain<T>(parse: (value: unknown) => T, value: T): void {
  const json = JSON.stringify(value);
  expect(JSON.stringify(parse(JSON.parse(json)))).toBe(json);
}

test("parseGenerationRequest takes what a log can hold, or names what is wrong", () => {
  fuzz(nearly(anyRequest), {
    parse: parseGenerationRequest,
    check(taken) {
      expectSameAgain(parseGenerationRequest, taken);
      encodeModelName(taken.model);
      effectivePolicySchema.parse(tightenPolicy({}, taken.policy ?? {}));
      const { input, max_output_tokens = 1, stop = [], tools = [], metadata = {}, tool_choice } = taken;
      const names = new Set(tools.map((each) => each.name));
      expect([
        input.length > 0,
        [...partsOf(input)].length <= LIMITS.parts,
        max_output_tokens >= 1 && max_output_tokens <= LIMITS.outputTokens,
        stop.length <= LIMITS.stopSequences,
        names.size === tools.length,
        typeof tool_choice !== "object" || names.has(tool_choice.name),
        Object.values(metadata).every((value) => value.length <= LIMITS.metadataValueLength),
      ]).not.toContain(false);
    },
  });
});

test("each valid request is taken, and assertServable refuses it only by a field that it has", () => {
  const served = fc.record({
    engine: fc.constantFrom("sim", "openai"),
    capabilities: fc.oneof(
      fc.constant(new Set(CAPABILITIES)),
      fc.subarray([...CAPABILITIES]).map((names) => new Set(names)),
    ),
  });
  const refusals = new Set<string>();
  fc.assert(
    fc.property(anyRequest, served, (body, by) => {
      const request = parseGenerationRequest(body);
      const needs = needsOf(request);
      const lacking = needs.find(({ capability }) => !by.capabilities.has(capability));
      const refusal = refusalOf(() => assertServable(request, needs, by));
      refusals.add(refusal?.code ?? "none");
      expect(needs.every(({ param }) => leadsToValue(request, param))).toBe(true);
      expect(refusal === undefined || leadsToValue(request, refusal.param ?? "")).toBe(true);
      expect(refusal?.code === "capability_unsupported").toBe(lacking !== undefined);
    }),
    { numRuns: 1_000, seed: SEED },
  );
  expect(refusals).toEqual(new Set(["none", "capability_unsupported", "invalid_request"]));
});

function refusalOf(act: () => void): RepriseError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof RepriseError) return error;
    throw error;
  }
}

/** Returns true if a dotted path leads to a value. Names may contain dots. */
function leadsToValue(value: unknown, path: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, part]) =>
      key === path || (path.startsWith(`${key}.`) && leadsToValue(part, path.slice(key.length + 1))),
  );
}

test("parseConversationRequest takes what a row can hold, or names what is wrong", () => {
  const request = fc.record(
    {
      metadata: fc.dictionary(fc.string({ maxLength: 70 }), fc.string(), { maxKeys: 18 }),
      subject: text,
      end_user: fc.constantFrom("ann", "a b", ""),
      ttl_seconds: fc.integer({ min: 0, max: 40_000_000 }),
      on_busy: fc.constantFrom("reject", "queue"),
      when_full: fc.constantFrom("error", "truncate_oldest", { policy: "summarize", model: "m" }),
      items: history,
    },
    { requiredKeys: [] },
  );
  fuzz(nearly(request), {
    parse: parseConversationRequest,
    check(taken) {
      expectSameAgain(parseConversationRequest, taken);
      const { ttl_seconds: ttl = 60 } = taken;
      expect(ttl >= 60 && ttl <= CONVERSATION_LIMITS.ttlSeconds).toBe(true);
    },
  });
});

test("parseToolResult takes what a log can hold, or names what is wrong", () => {
  const deep = fc
    .integer({ min: 28, max: 36 })
    .map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown);
  const output = fc.oneof(fc.jsonValue(), deep);
  const part = fc.oneof(
    fc.record({ type: fc.constant("text"), text }),
    fc.record({ type: fc.constant("image"), blob: fc.constantFrom(`blob_${"0".repeat(26)}`, "blob_1") }),
    fc.record({ type: fc.constant("file"), url: fc.constantFrom("data:a/b;base64,AAAA", "https://a/") }),
  );
  const content = fc.array(part, { maxLength: 3 });
  const answers = fc.oneof(fc.record({ call_id: text, output }), fc.record({ call_id: text, content }));
  fuzz(nearly(answers), {
    parse: parseToolResult,
    check(taken) {
      expectSameAgain(parseToolResult, taken);
      const said = taken.content ?? taken.output;
      expect(JSON.stringify(said).length).toBeLessThanOrEqual(LIMITS.toolOutputBytes);
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
