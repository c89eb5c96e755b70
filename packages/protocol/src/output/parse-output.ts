import * as z from "zod";
import type { KnownEvent, UnknownEvent } from "../event/event.ts";
import { FINISH_REASONS, completed, failed, usageSchema } from "../event/shapes/end.ts";
import {
  outputAnnotation,
  outputDelta,
  reasoningDelta,
  reasoningSealed,
  refusalDelta,
  summaryDelta,
} from "../event/shapes/output.ts";
import { toolCall } from "../event/shapes/tool.ts";
import { isErrorCode } from "../errors/error-code.ts";
import { RepriseError } from "../errors/reprise-error.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { callIdSchema } from "../request/fields/tools.ts";
import { parseWith } from "../request/request.ts";
import { asSeq, type Seq } from "../seq.ts";

const encoder = /* @__PURE__ */ new TextEncoder();
const MAX_MESSAGE = 1_024;

/** An appender makes several events of more bytes, and an entry is one event. */
const text = z
  .string()
  .min(1)
  .refine((value) => encoder.encode(value).length <= LIMITS.inputEntryBytes, {
    error: `has more than ${LIMITS.inputEntryBytes} bytes, as UTF-8`,
  });
/** Sums of them stay whole numbers. */
const tokens = z.int().min(0).max(LIMITS.outputTokens).optional();
const usage = usageSchema.strict().optional();
/** Codes and reasons of the platform's own ends: a log has to tell by itself whether its end is an entry. */
const isReserved = (code: string) => isErrorCode(code) && !code.startsWith("engine_");
/** Finish reasons that no producer gives. */
const PLATFORM_REASONS = ["timeout", "interrupted"] as const;
const reasons = z.enum(FINISH_REASONS).exclude(PLATFORM_REASONS);
const failure = z.strictObject({
  code: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/)
    .refine((code) => !isReserved(code), { error: "is a code that only the platform ends generations with" }),
  message: z.string().max(MAX_MESSAGE),
  retryable: z.boolean().default(false),
});

const entrySchema = z.discriminatedUnion("type", [
  outputDelta
    .omit({ seq: true, consumed: true, consumed_bytes: true, item: true, final: true })
    .extend({ text, tokens })
    .strict(),
  reasoningDelta.omit({ seq: true }).extend({ text, tokens }).strict(),
  refusalDelta.omit({ seq: true }).extend({ text, tokens }).strict(),
  summaryDelta.omit({ seq: true }).extend({ text, tokens }).strict(),
  reasoningSealed.omit({ seq: true }).strict(),
  outputAnnotation.omit({ seq: true }).strict(),
  toolCall
    .omit({ seq: true })
    .extend({ call_id: callIdSchema, tokens, reasoning_tokens: tokens, audio_output_tokens: tokens })
    .strict(),
  completed
    .omit({ seq: true })
    .extend({ finish_reason: reasons.default("stop"), usage })
    .strict(),
  failed.omit({ seq: true }).extend({ error: failure, usage }).strict(),
]);

/** One event that a producer appends. Without `usage` an end has what the deltas have counted. */
export type OutputEntry = z.infer<typeof entrySchema>;

const appendSchema = z.strictObject({
  epoch: z.int().min(1),
  /** That of the epoch, as its claim has given it; undefined: it is not compared. */
  nonce: z.string().optional(),
  /** Number of the first entry; entries are numbered from 1, over all epochs. */
  first: z.int().min(1).optional(),
  entries: z.array(entrySchema).max(LIMITS.inputEntries),
});

export interface OutputAppend {
  readonly epoch: number;
  readonly nonce?: string | undefined;
  readonly first: Seq;
  readonly entries: readonly OutputEntry[];
}

const PRODUCED: ReadonlySet<string> = new Set(entrySchema.options.map(({ shape }) => shape.type.value));

const PLATFORMS: ReadonlySet<string> = new Set(PLATFORM_REASONS);

/**
 * Returns true for an event that a producer has appended. The n-th of them in a log is its producers' entry n.
 * @param halted the event by which moderation has stopped the generation before
 */
export function isProduced(event: KnownEvent | UnknownEvent, halted: object | undefined): boolean {
  if (event.type === "generation.failed") return !isReserved(event.error.code);
  if (event.type === "generation.completed") return !halted && !PLATFORMS.has(event.finish_reason);
  return PRODUCED.has(event.type);
}

/**
 * Parses the body of `POST /v1/generations/{id}/output`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`
 */
export function parseOutputAppend(body: unknown): OutputAppend {
  const { epoch, nonce, first, entries } = parseWith(appendSchema, body);
  if (first === undefined && entries.length > 0) throw refused("first", "is required with entries");
  const end = entries.findIndex((entry) => isEnd(entry));
  if (end !== -1 && end < entries.length - 1)
    throw refused(`entries.${end + 1}`, `follows ${entries[end]?.type}, which is the last entry`);
  return { epoch, nonce, first: asSeq(first ?? 1), entries };
}

function isEnd({ type }: OutputEntry): boolean {
  return type === "generation.completed" || type === "generation.failed";
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
