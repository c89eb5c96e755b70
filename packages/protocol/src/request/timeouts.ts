import * as z from "zod";
import { RepriseError } from "../errors/reprise-error.ts";

/**
 * Answers to a timeout, from the most to the least permissive. `retry`: a new attempt, if nothing was shown yet or the engine continues after what was shown,
 * and an attempt is left; else as `fail`. `complete`: the generation ends in order with its output so far, `finish_reason: "timeout"`. `fail`: it ends with
 * the timeout's own error.
 */
export const TIMEOUT_ANSWERS = ["retry", "complete", "fail"] as const;
export type TimeoutAnswer = (typeof TIMEOUT_ANSWERS)[number];

/** Where there is nothing that could be tried again. */
const FINAL_ANSWERS = ["complete", "fail"] as const;

/** The longest `after_ms`. */
export const MAX_TIMEOUT_MS = 86_400_000;
const afterMs = z.int().min(1).max(MAX_TIMEOUT_MS);

/**
 * `queue`: from the create to the first attempt. `first_token`: from asking the engine to its first token. `between_tokens`: from
 * each token to the next. `total`: from the create to the end, tools included. `tool_result`: from the tool calls of a turn to
 * the last of their answers.
 */
export const DEFAULT_TIMEOUTS = {
  queue: { after_ms: 60_000, answer: "fail" },
  first_token: { after_ms: 60_000, answer: "retry" },
  between_tokens: { after_ms: 30_000, answer: "retry" },
  total: { after_ms: 1_800_000, answer: "fail" },
  tool_result: { after_ms: 600_000, answer: "fail" },
} as const satisfies Timeouts;

export const TIMEOUTS = ["queue", "first_token", "between_tokens", "total", "tool_result"] as const;
export type TimeoutName = (typeof TIMEOUTS)[number];

function open<Answers extends readonly [TimeoutAnswer, ...TimeoutAnswer[]]>(answers: Answers) {
  return z.strictObject({ after_ms: afterMs.optional(), answer: z.enum(answers).optional() }).optional();
}

/** Each field may be left open: it then is what the other party says, or its default. */
export const timeoutsSchema = z.strictObject({
  queue: open(FINAL_ANSWERS),
  first_token: open(TIMEOUT_ANSWERS),
  between_tokens: open(TIMEOUT_ANSWERS),
  total: open(FINAL_ANSWERS),
  tool_result: open(FINAL_ANSWERS),
});

function effective<Answers extends readonly [TimeoutAnswer, ...TimeoutAnswer[]]>(
  answers: Answers,
  fallback: { readonly after_ms: number; readonly answer: Answers[number] },
) {
  return z.object({ after_ms: afterMs, answer: z.enum(answers) }).default(fallback);
}

export const effectiveTimeoutsSchema = z
  .object({
    queue: effective(FINAL_ANSWERS, DEFAULT_TIMEOUTS.queue),
    first_token: effective(TIMEOUT_ANSWERS, DEFAULT_TIMEOUTS.first_token),
    between_tokens: effective(TIMEOUT_ANSWERS, DEFAULT_TIMEOUTS.between_tokens),
    total: effective(FINAL_ANSWERS, DEFAULT_TIMEOUTS.total),
    tool_result: effective(FINAL_ANSWERS, DEFAULT_TIMEOUTS.tool_result),
  })
  .default(DEFAULT_TIMEOUTS);

export type Timeouts = z.infer<typeof timeoutsSchema>;
export type EffectiveTimeouts = z.infer<typeof effectiveTimeoutsSchema>;

/** Takes the shorter time and the stricter answer of the two, each; a default applies only if neither sets it. */
export function tightenTimeouts(tenant: Timeouts, request: Timeouts): EffectiveTimeouts {
  const tighten = (name: TimeoutName) => {
    const said = [tenant[name], request[name]].filter((timeout) => timeout !== undefined);
    const times = said.flatMap(({ after_ms }) => after_ms ?? []);
    const answers = said.flatMap(({ answer }) => answer ?? []);
    const strictness = Math.max(...answers.map((answer) => TIMEOUT_ANSWERS.indexOf(answer)));
    return {
      after_ms: times.length > 0 ? Math.min(...times) : DEFAULT_TIMEOUTS[name].after_ms,
      answer: TIMEOUT_ANSWERS[strictness] ?? DEFAULT_TIMEOUTS[name].answer,
    };
  };
  return Object.fromEntries(TIMEOUTS.map((name) => [name, tighten(name)])) as EffectiveTimeouts;
}

const WHAT: Readonly<Record<TimeoutName, string>> = {
  queue: "No worker has begun with the generation",
  first_token: "The engine has not said its first token",
  between_tokens: "The engine has not said its next token",
  total: "The generation has not ended",
  tool_result: "The tool calls have not been answered",
};

/** Returns the error of a generation when one of its policy's timeouts expires: `queue_timeout`, `first_token_timeout`, … */
export function timeoutError(name: TimeoutName, ms: number): RepriseError {
  return new RepriseError(`${name}_timeout`, `${WHAT[name]} within ${ms} ms.`);
}
