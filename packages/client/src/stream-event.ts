import type { GenerationEvent, UnknownEvent } from "@reprise/protocol/wire";

/** What a stream hands out. A later server may have types that this client does not know; they pass through as they are. */
export type StreamEvent = GenerationEvent | UnknownEvent;

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

/** Narrows an event to the types that this version knows, so that a `switch` over `type` gives each its fields. */
export function isKnownEvent(event: StreamEvent): event is GenerationEvent {
  return Object.hasOwn(KNOWN_TYPES, event.type);
}
