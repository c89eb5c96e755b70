import type { EventType, KnownEvent, UnknownEvent } from "./event.ts";

const KNOWN_TYPES: Readonly<Record<EventType, true>> = {
  "generation.requested": true,
  "generation.started": true,
  "attempt.ended": true,
  "output.delta": true,
  "reasoning.delta": true,
  "refusal.delta": true,
  "reasoning.summary.delta": true,
  "reasoning.sealed": true,
  "output.annotation": true,
  "output.blob": true,
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

/** Returns true if this version knows a type of events. */
export function isKnownType(type: string): type is EventType {
  return Object.hasOwn(KNOWN_TYPES, type);
}

/** Returns true if this version knows the type of an event. Code that compares the type anyway does not need it. */
export function isKnownEvent(event: KnownEvent | UnknownEvent): event is KnownEvent {
  return isKnownType(event.type);
}

/**
 * Types of events that versions before this one do not know, as seq 0 lists them. An older moderation clears them unjudged and an older node
 * can't hide what was withdrawn of them, so a worker appends them only where the node that has created the generation lists them: delivery is the last
 * service to be upgraded.
 */
export const OPTIONAL_EVENTS = [
  "refusal.delta",
  "reasoning.summary.delta",
  "reasoning.sealed",
  "output.annotation",
  "output.blob",
] as const satisfies readonly EventType[];
