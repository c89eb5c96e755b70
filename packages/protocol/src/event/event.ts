import * as z from "zod";
import type { Seq } from "../seq.ts";
import { type ATTEMPT_ENDS, attemptEnded, started, type TAKEOVER_REASONS } from "./shapes/attempt.ts";
import {
  cancelled,
  completed,
  failed,
  type failureSchema,
  type FINISH_REASONS,
  type usageSchema,
} from "./shapes/end.ts";
import {
  halted,
  redacted,
  review,
  type REVIEW_DECISIONS,
  reviewed,
  unavailable,
} from "./shapes/moderation.ts";
import {
  outputAnnotation,
  outputBlob,
  outputDelta,
  outputRewind,
  reasoningDelta,
  reasoningSealed,
  refusalDelta,
  summaryDelta,
} from "./shapes/output.ts";
import { requested } from "./shapes/request.ts";
import { toolCall, toolResult } from "./shapes/tool.ts";

/*
 * The events of a generation's log. New types and fields are added; old ones never change their meaning. `seq` is dense
 * and starts at 0. A field that may be absent has its default said beside it.
 */

export const eventSchema = z.discriminatedUnion("type", [
  requested,
  started,
  attemptEnded,
  outputDelta,
  reasoningDelta,
  refusalDelta,
  summaryDelta,
  reasoningSealed,
  outputAnnotation,
  outputBlob,
  outputRewind,
  toolCall,
  toolResult,
  redacted,
  halted,
  review,
  reviewed,
  unavailable,
  completed,
  failed,
  cancelled,
]);

export type Usage = z.infer<typeof usageSchema>;
export type Failure = z.infer<typeof failureSchema>;
export type FinishReason = (typeof FINISH_REASONS)[number];
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];
export type TakeoverReason = (typeof TAKEOVER_REASONS)[number];
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];
export type RequestedEvent = z.infer<typeof requested>;
export type KnownEvent = z.infer<typeof eventSchema>;
export type EventType = KnownEvent["type"];
export type TerminalType = "generation.completed" | "generation.failed" | "generation.cancelled";

/** An event without its place: the appender gives it `seq` when it publishes it. */
export type EventDraft = KnownEvent extends infer E ? (E extends KnownEvent ? Omit<E, "seq"> : never) : never;

/** Draft of any event after the request. */
export type GenerationEventDraft = Exclude<EventDraft, { type: "generation.requested" }>;

declare const unknown: unique symbol;

/**
 * Any type of a later version. TypeScript has no type for "every string but these", so a literal that no code can write represents it: comparing the `type` of
 * an event then narrows to the known event of that type.
 */
export type UnknownType = "a type of a later version" & { readonly [unknown]: true };

/** An event of a later version, whose type this one does not know. It is passed on unchanged. */
export interface UnknownEvent {
  readonly seq: Seq;
  readonly type: UnknownType;
  readonly [field: string]: unknown;
}

/** An event as clients get it. Its numbers are plain ones, so that a program can make an event in its tests. */
export type GenerationEvent = Exclude<z.input<typeof eventSchema>, { type: "generation.requested" }>;
