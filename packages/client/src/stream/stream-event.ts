import type { GenerationEvent } from "@reprise/protocol/wire";

/**
 * What a stream hands out: comparing `type`, or a `switch` over it, gives an event its fields. A later server may send types that this
 * version does not know. They pass through at run time and are left out of the type, because a member with any `type` would keep
 * TypeScript from narrowing the others: a `default` branch should ignore its event.
 */
export type StreamEvent = GenerationEvent;

const KNOWN_TYPES: Readonly<Record<GenerationEvent["type"], true>> = {
  "generation.started": true,
  "attempt.ended": true,
  "output.delta": true,
  "reasoning.delta": true,
  "output.rewind": true,
  "tool.call": true,
  "tool.result": true,
  "moderation.redacted": true,
  "moderation.halted": true,
  "moderation.review": true,
  "moderation.reviewed": true,
  "moderation.unavailable": true,
  "generation.completed": true,
  "generation.failed": true,
  "generation.cancelled": true,
};

/** Whether this version knows the type of an event. */
export function isKnownEvent(event: { readonly type: string }): boolean {
  return Object.hasOwn(KNOWN_TYPES, event.type);
}
