import { type GenerationEvent, isKnownType } from "@reprise/protocol/wire";

/**
 * The events that a stream hands out: comparing `type`, or a `switch` over it, gives an event its fields. A later server may send types that this version
 * does not know. They pass through at run time and are left out of the type, because a member with any `type` would keep TypeScript from narrowing the
 * others: a `default` branch should ignore its event.
 */
export type StreamEvent = GenerationEvent;

/** True if this version knows the type of an event. */
export function isKnownEvent({ type }: { readonly type: string }): boolean {
  return type !== "generation.requested" && isKnownType(type);
}
