import {
  decodeEvent,
  effectivePolicySchema,
  type GenerationId,
  isGenerationId,
  MAX_TIMEOUT_MS,
} from "@reprise/protocol";
import * as z from "zod";
import type { ReapPolicy } from "./plan.ts";

/** The most that a policy of this version may ask for. */
const LONGEST = { after_ms: MAX_TIMEOUT_MS, answer: "fail" } as const;
const ALL_LONGEST = { queue: LONGEST, total: LONGEST, between_tokens: LONGEST };
const KEEP = "keep";

const { on_disconnect, timeouts } = effectivePolicySchema.shape;
const { queue, total, between_tokens } = timeouts.unwrap().shape;

/** Each field by itself, so that one that a later version wrote leaves the others as they are. */
const reapPolicySchema = z
  .object({
    on_disconnect: on_disconnect.catch(KEEP),
    timeouts: z
      .object({
        queue: queue.catch(LONGEST),
        total: total.catch(LONGEST),
        between_tokens: between_tokens.catch(LONGEST),
      })
      .prefault({})
      .catch(ALL_LONGEST),
  })
  .catch({ on_disconnect: KEEP, timeouts: ALL_LONGEST });

export interface ReapRequest {
  readonly policy: ReapPolicy;
  /** Trace context of the request. Undefined if delivery did not trace it. */
  readonly traceparent: string | undefined;
  /** Generations that must end before it can begin: turns, and a summary. */
  readonly waitsFor: readonly GenerationId[];
}

/**
 * Reads the part of a job that a reaper needs. If a later version wrote values that this one cannot read, the reaper still ends the generation in bounded
 * time, and never before a newer node would: it takes the longest time, and leaves absent readers to newer nodes. A payload that is not an event gets the
 * defaults.
 */
export function readReapRequest(requested: Uint8Array): ReapRequest {
  const { policy = {}, traceparent, context } = fieldsOf(requested);
  return {
    policy: reapPolicySchema.parse(policy),
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    waitsFor: waitsForSchema.parse(context),
  };
}

const generation = z.custom<GenerationId>(isGenerationId);
const waitsForSchema = z
  .object({
    waits_for: z.array(generation).catch([]),
    summary: z.object({ generation }).optional().catch(undefined),
  })
  .transform(({ waits_for: turns, summary }) => [...(summary ? [summary.generation] : []), ...turns])
  .catch([]);

interface Fields {
  readonly policy?: unknown;
  readonly traceparent?: unknown;
  readonly context?: unknown;
}

function fieldsOf(requested: Uint8Array): Fields {
  try {
    return decodeEvent(requested) as Fields;
  } catch {
    return {};
  }
}
