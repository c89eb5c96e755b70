import * as z from "zod";

/** Modes of moderation, from the most to the least permissive. */
export const MODERATION_MODES = ["off", "observe", "retract", "gate"] as const;
export type ModerationMode = (typeof MODERATION_MODES)[number];

/** Actions after a rule has matched, from the mildest to the strictest. */
export const MODERATION_ACTIONS = ["flag", "redact", "review", "halt"] as const;
export type ModerationAction = (typeof MODERATION_ACTIONS)[number];

/** Rules that come with the platform. */
export const BUILT_IN_RULES = ["cards", "secrets", "personal-data"] as const;
export type BuiltInRules = (typeof BUILT_IN_RULES)[number];

export const UNAVAILABLE_ANSWERS = ["fail_open", "fail_closed"] as const;
/** Policies for images and audio that a model makes, which no rule can read, from the most to the least permissive. */
export const MEDIA_ANSWERS = ["allow", "review", "withhold"] as const;
/** Moderation of streamed input, from the most to the least permissive. */
export const INPUT_MODES = ["off", "gate"] as const;
const REVIEW_ANSWERS = ["approve", "redact", "halt"] as const;

export const MODERATION_LIMITS = {
  rules: 100,
  terms: 20_000,
  termLength: 128,
  patternLength: 1_000,
  /** The longest match that a pattern may have, in characters, and the default. */
  matchLength: 1_024,
  defaultMatchLength: 128,
  /** Instructions that all patterns of a policy may compile to, and characters that all of them may read for one of a text. */
  patternSize: 32_768,
  patternMatchLength: 8_192,
  /** Limits of the terms and patterns that a request brings. */
  requestTermsLength: 65_536,
  requestPatternCost: 65_536,
  requestPatternSize: 8_192,
  requestMatchLength: 2_048,
  nameLength: 64,
  replacementLength: 64,
  waitMs: 86_400_000,
  leadCharacters: 1_000_000,
} as const;

const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const name = z.string().regex(NAME, { error: "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -" });
/** Classifiers have categories such as `sexual/minors`. */
const categoryName = z.string().regex(/^[A-Za-z0-9._/-]{1,64}$/, {
  error: "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _, / and -",
});
const action = z.enum(MODERATION_ACTIONS);
const waitMs = z.int().min(1).max(MODERATION_LIMITS.waitMs);
const leadCharacters = z.int().min(1).max(MODERATION_LIMITS.leadCharacters);

const builtIn = z.strictObject({ set: z.enum(BUILT_IN_RULES), action: action.optional() });
const terms = z.strictObject({
  terms: z.array(z.string().min(1).max(MODERATION_LIMITS.termLength)).min(1).max(MODERATION_LIMITS.terms),
  /** Default `redact`. */
  action: action.optional(),
  name: name.optional(),
  category: name.optional(),
  /** `word`: a term has to begin and end at the limits of words. Default `word`. */
  match: z.enum(["word", "anywhere"]).optional(),
});
const pattern = z.strictObject({
  /** RE2 syntax; matched without regard to case. */
  pattern: z.string().min(1).max(MODERATION_LIMITS.patternLength),
  action: action.optional(),
  name: name.optional(),
  category: name.optional(),
  /** Characters of the longest match; longer ones are not found. */
  max_length: z.int().min(1).max(MODERATION_LIMITS.matchLength).optional(),
});
const classifier = z.strictObject({
  /** A name from the classifiers file. */
  classifier: name,
  /** Default `flag`. */
  action: action.optional(),
  /** Only these of its categories count. Default: all. */
  categories: z.array(categoryName).min(1).max(64).optional(),
  /** From which score on a category counts, 0 to 1. Default: what the classifier itself calls flagged. */
  threshold: z.number().min(0).max(1).optional(),
});

export const moderationRuleSchema = z.union([z.enum(BUILT_IN_RULES), builtIn, terms, pattern, classifier], {
  error: `must be one of ${BUILT_IN_RULES.join(", ")}, or {set}, {terms}, {pattern} or {classifier} with an action`,
});
export type ModerationRule = z.infer<typeof moderationRuleSchema>;

export const moderationSchema = z.strictObject({
  /**
   * `observe`: verdicts only. `retract`: text is shown at once and withdrawn when it is found out. `gate`: an event is shown only once
   * it is cleared. Default `off`.
   */
  mode: z.enum(MODERATION_MODES).optional(),
  rules: z.array(moderationRuleSchema).max(MODERATION_LIMITS.rules).optional(),
  /** Text that replaces redacted text. Default `[redacted]`. */
  replacement: z.string().max(MODERATION_LIMITS.replacementLength).optional(),
  /**
   * For `retract`: how much unjudged text readers may be shown, in UTF-16 code units. Default 1,000 with `fail_closed`,
   * else no limit.
   */
  max_lead_characters: leadCharacters.optional(),
  /** Answer to readers while moderation is unavailable. Defaults: `fail_closed` for gate, else `fail_open`; after 5 s. */
  on_unavailable: z
    .strictObject({ answer: z.enum(UNAVAILABLE_ANSWERS).optional(), after_ms: waitMs.optional() })
    .optional(),
  /** Answer of a review that is not decided. Defaults: `redact` after an hour. */
  review: z
    .strictObject({ answer: z.enum(REVIEW_ANSWERS).optional(), after_ms: waitMs.optional() })
    .optional(),
  /** Policy for images and audio that the model makes: no rule can read them. Default `withhold` for gate, else `allow`. */
  media: z.enum(MEDIA_ANSWERS).optional(),
  /** Policy for text that is streamed to the model. `gate`: it is given only what the rules have cleared; `mode` is at least `observe`. Default `off`. */
  input: z.enum(INPUT_MODES).optional(),
});
export type ModerationPolicy = z.infer<typeof moderationSchema>;

const DEFAULTS = {
  replacement: "[redacted]",
  leadCharacters: 1_000,
  unavailableAfterMs: 5_000,
  review: { answer: "redact", after_ms: 3_600_000 },
} as const;

/**
 * Moderation in the form that a log stores. The rules are stored separately, by their id: `ruleSetId`.
 *
 * An older node ignores a field that it does not know. A later version that wants text held back has to use a new `mode`, for which older nodes show nothing.
 */
export const effectiveModerationSchema = z.object({
  mode: z.enum(["observe", "retract", "gate"]),
  rule_set: z.string(),
  replacement: z.string(),
  max_lead_characters: leadCharacters.optional(),
  on_unavailable: z.object({ answer: z.enum(UNAVAILABLE_ANSWERS), after_ms: waitMs }),
  review: z.object({ answer: z.enum(REVIEW_ANSWERS), after_ms: waitMs }),
  /** Absent: of an earlier version, which knows no event that it could be of. */
  media: z.enum(MEDIA_ANSWERS).optional(),
  /** Absent: off. */
  input: z.enum(INPUT_MODES).optional(),
});
export type EffectiveModeration = z.infer<typeof effectiveModerationSchema>;

/** A generation's moderation before its rules have been stored. */
export type OpenModeration = Omit<EffectiveModeration, "rule_set"> & {
  readonly rules: readonly ModerationRule[];
};

/**
 * Combines the policies of a tenant and a request: the stricter mode and answers, the shorter times, the rules of both. If the tenant moderates, a field that
 * it does not set counts as the default, which a request cannot loosen either. Returns undefined if there is nothing to moderate.
 */
export function tightenModeration(
  tenant: ModerationPolicy = {},
  request: ModerationPolicy = {},
): OpenModeration | undefined {
  const saysHow = request.on_unavailable ?? request.review ?? request.max_lead_characters;
  const both = [saysHow === undefined ? tenant : spelledOut(tenant), request];
  const input = strictest(
    INPUT_MODES,
    both.map((said) => said.input),
  );
  const mode =
    strictest(MODERATION_MODES, [
      ...both.map(({ mode: said }) => said),
      input === "gate" ? "observe" : undefined,
    ]) ?? "off";
  if (mode === "off") return undefined;
  const isTenants = (tenant.mode ?? "off") !== "off" || tenant.input === "gate";
  const unavailable = both.map(({ on_unavailable: said }) => said);
  const review = both.map((said) => said.review);
  const answer =
    strictest(
      UNAVAILABLE_ANSWERS,
      unavailable.map((said) => said?.answer),
    ) ?? (mode === "gate" ? "fail_closed" : "fail_open");
  const most = answer === "fail_closed" ? DEFAULTS.leadCharacters : undefined;
  const lead = least(both.map((said) => said.max_lead_characters)) ?? most;
  return {
    mode,
    rules: both.flatMap(({ rules = [] }) => rules),
    replacement: tenant.replacement ?? (isTenants ? undefined : request.replacement) ?? DEFAULTS.replacement,
    ...(lead !== undefined && { max_lead_characters: lead }),
    on_unavailable: {
      answer,
      after_ms: least(unavailable.map((said) => said?.after_ms)) ?? DEFAULTS.unavailableAfterMs,
    },
    review: {
      answer:
        strictest(
          REVIEW_ANSWERS,
          review.map((said) => said?.answer),
        ) ?? DEFAULTS.review.answer,
      after_ms: least(review.map((said) => said?.after_ms)) ?? DEFAULTS.review.after_ms,
    },
    media:
      strictest(MEDIA_ANSWERS, [tenant.media ?? mediaOf(tenant.mode), request.media]) ??
      mediaOf(mode) ??
      "allow",
    ...(input !== undefined && { input }),
  };
}

/** Returns the default for media. Undefined: nothing is withheld. */
function mediaOf(mode: ModerationMode | undefined): "withhold" | undefined {
  return mode === "gate" ? "withhold" : undefined;
}

/** With the defaults in the place of what a tenant that moderates has not said of its answers. */
function spelledOut(tenant: ModerationPolicy): ModerationPolicy {
  const { mode = "off", on_unavailable, review } = tenant;
  if (mode === "off") return tenant;
  return {
    ...(on_unavailable?.answer === "fail_closed" && { max_lead_characters: DEFAULTS.leadCharacters }),
    ...tenant,
    on_unavailable: {
      ...(mode === "gate" && { answer: "fail_closed" }),
      after_ms: DEFAULTS.unavailableAfterMs,
      ...on_unavailable,
    },
    review: { ...DEFAULTS.review, ...review },
  };
}

/**
 * The name of a set of rules: the same rules have the same name, everywhere and always.
 * @returns 26 characters
 */
export async function ruleSetId(rules: readonly ModerationRule[]): Promise<string> {
  return ruleSetIdOf(JSON.stringify(rules));
}

/** The same of rules as they are stored. */
export async function ruleSetIdOf(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest.subarray(0, 13), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function strictest<T extends string>(order: readonly T[], said: readonly (T | undefined)[]): T | undefined {
  return order[Math.max(...said.map((value) => (value === undefined ? -1 : order.indexOf(value))))];
}

function least(said: readonly (number | undefined)[]): number | undefined {
  const numbers = said.filter((value) => value !== undefined);
  return numbers.length > 0 ? Math.min(...numbers) : undefined;
}
