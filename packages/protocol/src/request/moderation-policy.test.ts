import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  effectiveModerationSchema,
  MEDIA_ANSWERS,
  MODERATION_LIMITS,
  MODERATION_MODES,
  type ModerationPolicy,
  type ModerationRule,
  moderationSchema,
  ruleSetId,
  tightenModeration,
} from "./moderation-policy.ts";

const UNAVAILABLE = ["fail_open", "fail_closed"] as const;
const REVIEW = ["approve", "redact", "halt"] as const;
const anyMs = fc.integer({ min: 1, max: MODERATION_LIMITS.waitMs });
const anyAnswer = <T>(answers: readonly T[]) =>
  fc.record({ answer: fc.constantFrom(...answers), after_ms: anyMs }, { requiredKeys: [] });
const anyRule: fc.Arbitrary<ModerationRule> = fc.oneof(
  fc.constantFrom("cards" as const, "secrets" as const),
  fc.record({ terms: fc.array(fc.string({ minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 3 }) }),
);
const anyModeration: fc.Arbitrary<ModerationPolicy> = fc.record(
  {
    mode: fc.constantFrom(...MODERATION_MODES),
    rules: fc.array(anyRule, { maxLength: 4 }),
    replacement: fc.string({ maxLength: 9 }),
    max_lead_characters: fc.integer({ min: 1, max: 2_000 }),
    on_unavailable: anyAnswer(UNAVAILABLE),
    review: anyAnswer(REVIEW),
    media: fc.constantFrom(...MEDIA_ANSWERS),
  },
  { requiredKeys: [] },
);
const DEFAULTS = {
  mode: "retract",
  rules: [],
  replacement: "[redacted]",
  on_unavailable: { answer: "fail_open", after_ms: 5_000 },
  review: { answer: "redact", after_ms: 3_600_000 },
  media: "allow",
};

describe("two parties' moderation made one", () => {
  it("is as strict as the stricter of the two, and patient as the less patient", () => {
    fc.assert(
      fc.property(anyModeration, anyModeration, (tenant, request) => {
        fc.pre([tenant.mode, request.mode].some((mode) => mode !== undefined && mode !== "off"));
        const both = tightenModeration(tenant, request)!;
        const said = [tenant, request];
        const { on_unavailable: unavailable, review, media } = both;
        expect(rank(MODERATION_MODES, both.mode)).toBe(
          Math.max(...said.map(({ mode }) => rank(MODERATION_MODES, mode))),
        );
        for (const { on_unavailable: one, review: other, max_lead_characters: lead, media: made } of said) {
          expect(rank(MEDIA_ANSWERS, media)).toBeGreaterThanOrEqual(rank(MEDIA_ANSWERS, made));
          expect(both.max_lead_characters ?? Infinity).toBeLessThanOrEqual(lead ?? Infinity);
          expect(rank(UNAVAILABLE, unavailable.answer)).toBeGreaterThanOrEqual(
            rank(UNAVAILABLE, one?.answer),
          );
          expect(unavailable.after_ms).toBeLessThanOrEqual(one?.after_ms ?? Infinity);
          expect(rank(REVIEW, review.answer)).toBeGreaterThanOrEqual(rank(REVIEW, other?.answer));
          expect(review.after_ms).toBeLessThanOrEqual(other?.after_ms ?? Infinity);
        }
      }),
    );
  });

  it("says nothing that neither of them has said, save where both are silent", () => {
    fc.assert(
      fc.property(anyModeration, (tenant) => {
        const alone = tightenModeration({ mode: "retract", ...tenant });
        fc.pre(alone !== undefined);
        const { on_unavailable: unavailable, review, replacement, rules } = tenant;
        const most = alone.on_unavailable.answer === "fail_closed" ? 1_000 : undefined;
        expect(alone.max_lead_characters).toBe(tenant.max_lead_characters ?? most);
        expect(alone).toMatchObject({ rules: rules ?? [], replacement: replacement ?? "[redacted]" });
        expect(alone.review).toEqual({ ...DEFAULTS.review, ...review });
        expect(alone.on_unavailable.after_ms).toBe(unavailable?.after_ms ?? 5_000);
      }),
    );
  });

  it("judges by the rules of both, and replaces as the tenant says", () => {
    const tenant: ModerationPolicy = { mode: "observe", rules: ["cards"], replacement: "#" };
    const request: ModerationPolicy = { rules: ["secrets"], replacement: "?" };
    expect(tightenModeration(tenant, request)).toMatchObject({
      rules: ["cards", "secrets"],
      replacement: "#",
    });
  });

  it("takes a request's replacement only if the tenant does not moderate: a model may get it", () => {
    const of = (tenant: ModerationPolicy) =>
      tightenModeration(tenant, { mode: "observe", replacement: "?" })?.replacement;
    expect([of({}), of({ rules: ["cards"] }), of({ mode: "off" })]).toEqual(["?", "?", "?"]);
    expect([of({ mode: "observe" }), of({ input: "gate" })]).toEqual(["[redacted]", "[redacted]"]);
    expect(of({ input: "gate", replacement: "#" })).toBe("#");
  });

  it("has a value for every field once its rules have an id, for any input", () => {
    fc.assert(
      fc.property(anyModeration, (tenant) => {
        const { rules: _rules, ...open } = tightenModeration({ ...tenant, mode: "gate" })!;
        expect(effectiveModerationSchema.safeParse({ ...open, rule_set: "a" }).success).toBe(true);
      }),
    );
  });

  it.each([
    ["no policy asks for it", undefined, undefined],
    ["both want none", { mode: "off" }, { mode: "off" }],
    ["no policy names a mode", { rules: ["cards"] }, {}],
  ] satisfies [string, ModerationPolicy | undefined, ModerationPolicy | undefined][])(
    "is none where %s",
    (_name, tenant, request) => expect(tightenModeration(tenant, request)).toBeUndefined(),
  );

  it("can't be loosened by a request where the tenant has left an answer to the default", () => {
    const request: ModerationPolicy = {
      on_unavailable: { answer: "fail_open", after_ms: 80_000 },
      review: { answer: "approve", after_ms: 7_200_000 },
    };
    expect(tightenModeration({ mode: "gate" }, request)).toMatchObject({
      on_unavailable: { answer: "fail_closed", after_ms: 5_000 },
      review: DEFAULTS.review,
    });
    const closed: ModerationPolicy = { mode: "retract", on_unavailable: { answer: "fail_closed" } };
    expect(tightenModeration(closed, { max_lead_characters: 9_000 })?.max_lead_characters).toBe(1_000);
    expect(tightenModeration({ mode: "observe" }, { mode: "gate", review: {} })).toMatchObject({
      on_unavailable: { answer: "fail_closed" },
    });
  });

  it("withholds what no rule can read where it gates, which a request may loosen only where the tenant does not gate", () => {
    const mediaOf = (tenant: ModerationPolicy, request: ModerationPolicy = {}) =>
      tightenModeration(tenant, request)?.media;
    expect(mediaOf({ mode: "gate" })).toBe("withhold");
    expect(mediaOf({ mode: "gate" }, { media: "allow" })).toBe("withhold");
    expect(mediaOf({ mode: "gate", media: "review" }, { media: "allow" })).toBe("review");
    expect(mediaOf({ mode: "retract" })).toBe("allow");
    expect(mediaOf({ mode: "retract" }, { mode: "gate" })).toBe("withhold");
    expect(mediaOf({ mode: "retract" }, { mode: "gate", media: "allow" })).toBe("allow");
    expect(mediaOf({ mode: "observe", media: "withhold" })).toBe("withhold");
  });

  it("judges streamed input if either asks for it, and then the output at least in silence", () => {
    const of = (tenant: ModerationPolicy, request: ModerationPolicy) => {
      const { mode, input } = tightenModeration(tenant, request) ?? {};
      return [mode, input];
    };
    expect(of({ input: "gate" }, { mode: "off", input: "off" })).toEqual(["observe", "gate"]);
    expect(of({}, { mode: "retract", input: "gate" })).toEqual(["retract", "gate"]);
    expect(of({ input: "off" }, {})).toEqual([undefined, undefined]);
    expect(of({ mode: "gate" }, {})).toEqual(["gate", undefined]);
  });

  it("can't be turned off by a request", () => {
    expect(tightenModeration({ mode: "gate" }, { mode: "off" })?.mode).toBe("gate");
  });

  it("has defaults, which keep a gate shut while moderation is unavailable", () => {
    expect(tightenModeration({ mode: "retract" })).toEqual(DEFAULTS);
    expect(tightenModeration({ mode: "gate" })?.on_unavailable.answer).toBe("fail_closed");
    const closed = { mode: "retract", on_unavailable: { answer: "fail_closed" } } as const;
    expect(tightenModeration(closed)?.max_lead_characters).toBe(1_000);
  });
});

describe("a moderation policy", () => {
  it.each([
    { mode: "gate", rules: ["cards", { set: "secrets", action: "halt" }] },
    { rules: [{ terms: ["foo"], action: "review", name: "words", category: "abuse", match: "anywhere" }] },
    { rules: [{ pattern: "a+", max_length: 1_024 }] },
    { rules: [{ classifier: "guard", categories: ["violence"], threshold: 0.5, action: "flag" }] },
    { replacement: "", max_lead_characters: 1, on_unavailable: {}, review: {} },
  ])("is taken: %j", (policy) => expect(moderationSchema.safeParse(policy).success).toBe(true));

  it.each([
    { mode: "block" },
    { max_lead_characters: 0 },
    { max_lead_characters: 1_000_001 },
    { rules: ["card"] },
    { rules: [{ set: "cards", action: "delete" }] },
    { rules: [{ terms: [] }] },
    { rules: [{ terms: [""] }] },
    { rules: [{ terms: ["x".repeat(129)] }] },
    { rules: [{ terms: ["x"], match: "middle" }] },
    { rules: [{ pattern: "" }] },
    { rules: [{ pattern: "x".repeat(1_001) }] },
    { rules: [{ pattern: "x", max_length: 1_025 }] },
    { rules: [{ pattern: "x", terms: ["x"] }] },
    { rules: [{ classifier: "a b" }] },
    { rules: [{ classifier: "guard", threshold: 2 }] },
    { rules: Array.from({ length: 101 }, () => "cards") },
    { replacement: "x".repeat(65) },
    { on_unavailable: { answer: "wait" } },
    { on_unavailable: { after_ms: 0 } },
    { review: { after_ms: 86_400_001 } },
    { modes: "gate" },
  ])("that this version can't act on is refused: %j", (policy) =>
    expect(moderationSchema.safeParse(policy).success).toBe(false),
  );
});

describe("the id of a set of rules", () => {
  it("is the same for the same rules and another for others", async () => {
    const one = await ruleSetId(["cards", { terms: ["foo"] }]);
    expect(one).toMatch(/^[0-9a-f]{26}$/);
    expect(await ruleSetId(["cards", { terms: ["foo"] }])).toBe(one);
    expect(await ruleSetId([{ terms: ["foo"] }, "cards"])).not.toBe(one);
    expect(await ruleSetId([])).not.toBe(one);
  });
});

/** Returns the strictness of a value; -1 for none. */
function rank<T>(order: readonly T[], word: T | undefined): number {
  return word === undefined ? -1 : order.indexOf(word);
}
