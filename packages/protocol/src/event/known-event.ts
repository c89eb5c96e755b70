import type { EventType, Failure, GenerationEvent, KnownEvent, UnknownEvent, Usage } from "./event.ts";
import type { JsonValue } from "../json-object.ts";

type Guard<T> = (value: unknown) => value is T;
type OfType<T extends EventType> = Extract<KnownEvent, { type: T }>;
type Guards<E> = { readonly [F in Exclude<keyof E, "seq" | "type">]-?: Guard<E[F]> };

const text = (value: unknown): value is string => typeof value === "string";
const maybeText = (value: unknown): value is string | undefined => value === undefined || text(value);
const count = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const maybeCount = (value: unknown): value is number | undefined => value === undefined || count(value);
/** A name of a list to which later versions add: any text is taken, so the guard fits every list. */
const name = (value: unknown): value is never => text(value);
const maybeName = (value: unknown): value is undefined => value === undefined || text(value);
const json = (value: unknown): value is JsonValue => value !== undefined;

const usage = (value: unknown): value is Usage => {
  if (typeof value !== "object" || value === null) return false;
  const { input_tokens: input, output_tokens: output } = value as Partial<Usage>;
  return (input === null || count(input)) && count(output);
};

const failure = (value: unknown): value is Failure => {
  if (typeof value !== "object" || value === null) return false;
  const { code, message, retryable } = value as Partial<Failure>;
  return text(code) && text(message) && typeof retryable === "boolean";
};

const finding = { rule: text, category: text };

/** What kind of value each field has. What `eventSchema` asks for beyond that, such as the form of a name, it checks alone. */
const FIELDS: { readonly [T in GenerationEvent["type"]]: Guards<OfType<T>> } = {
  "generation.started": {
    attempt: count,
    worker: text,
    model: text,
    nonce: maybeText,
    input_tokens: maybeCount,
    reason: maybeName,
  },
  "attempt.ended": { attempt: count, reason: name },
  "output.delta": { text, output: maybeCount, tokens: maybeCount, input_tokens: maybeCount },
  "reasoning.delta": { text, tokens: maybeCount, input_tokens: maybeCount },
  "output.rewind": { to_seq: count, reason: text },
  "tool.call": { call_id: text, name: text, arguments: text },
  "tool.result": { call_id: text, output: json },
  "moderation.redacted": {
    from_seq: count,
    to_seq: count,
    replacement: text,
    ...finding,
    channel: maybeText,
    review_id: maybeText,
  },
  "moderation.halted": { from_seq: count, replacement: text, ...finding, review_id: maybeText },
  "moderation.review": {
    review_id: text,
    from_seq: count,
    to_seq: count,
    from_offset: maybeCount,
    to_offset: maybeCount,
    ...finding,
    channel: maybeText,
    expires_at: text,
  },
  "moderation.reviewed": { review_id: text, decision: name, reviewer: text, replacement: maybeText },
  "moderation.unavailable": { answer: name, judged_seq: count },
  "generation.completed": { finish_reason: name, usage },
  "generation.failed": { error: failure, usage },
  "generation.cancelled": { reason: text, usage },
};

/**
 * The request's own schemas check its parts where they are read: a later version may write a policy that this one can't read, and
 * each reader decides what it does then.
 */
const REQUESTED = "generation.requested" satisfies EventType;

const GUARDS: ReadonlyMap<string, readonly [field: string, guard: Guard<unknown>][]> = new Map([
  [REQUESTED, []],
  ...Object.entries(FIELDS).map(([type, guards]) => [type, Object.entries(guards)] as const),
]);

/** Whether this version knows a type of events. */
export function isKnownType(type: string): type is EventType {
  return GUARDS.has(type);
}

/** Whether this version knows the type of an event. Where the type is compared anyway, comparing it is enough. */
export function isKnownEvent(event: KnownEvent | UnknownEvent): event is KnownEvent {
  return isKnownType(event.type);
}

/** The first field that an event of its type has to have otherwise; undefined when there is none, and for unknown types. */
export function malformedField(event: { readonly type: string }): string | undefined {
  const guards = GUARDS.get(event.type) ?? [];
  const fields = event as Readonly<Record<string, unknown>>;
  return guards.find(([field, guard]) => !guard(fields[field]))?.[0];
}
