import { ANNOTATION_CHANNEL, redactAnnotation } from "./annotation.ts";
import type { EventDraft, KnownEvent, UnknownEvent } from "./event.ts";
import { BLOB_CHANNEL, NAME_CHANNEL, SEALED_CHANNEL } from "./withdrawn-text.ts";

/*
 * Every text that a model generates and a person may read: the event that has it, the channel in which moderation judges it, and the form of the event once it
 * is withdrawn. Text in an event without a row is not judged; §12.8 of PROTOCOL.md gives the reason for each.
 */

type EventOf<Type> = Extract<KnownEvent, { type: Type }>;

type DeltaType = "output.delta" | "reasoning.delta" | "refusal.delta" | "reasoning.summary.delta";
export type TextType = DeltaType | "tool.call" | "output.annotation" | "output.blob";
export type TextEvent = EventOf<TextType>;

/** Returns the replacement of an event's text in a channel; undefined if none of it was withdrawn. */
type ReplacementOf = (channel: string) => string | undefined;

interface TextRow<Event> {
  /** Fields that make up `text` and `name`. */
  readonly fields: readonly string[];
  /** True if the next event of the channel continues the text. Otherwise each event is a separate text. */
  readonly grows: boolean;
  channel(event: Event): string;
  text(event: Event): string;
  /** The event as it is to be shown; undefined where that is the event itself. A field that is not named here is not shown any more. */
  withdrawn(event: Event, replacementOf: ReplacementOf): Partial<Event> | undefined;
}

const DELTA_COUNTS = ["tokens", "input_tokens", "cached_input_tokens"] as const;

const ROWS: { readonly [Type in TextType]: TextRow<EventOf<Type>> } = {
  "output.delta": {
    fields: ["text"],
    grows: true,
    channel: ({ output = 0 }) => `${output}`,
    text: ({ text }) => text,
    withdrawn: (event, replacementOf) =>
      withText(event, ["output", "consumed", "item", "final", ...DELTA_COUNTS], replacementOf),
  },
  "reasoning.delta": {
    fields: ["text"],
    grows: true,
    channel: () => "reasoning",
    text: ({ text }) => text,
    withdrawn: (event, replacementOf) => withText(event, DELTA_COUNTS, replacementOf),
  },
  "refusal.delta": {
    fields: ["text"],
    grows: true,
    channel: () => "refusal",
    text: ({ text }) => text,
    withdrawn: (event, replacementOf) => withText(event, DELTA_COUNTS, replacementOf),
  },
  "reasoning.summary.delta": {
    fields: ["text"],
    grows: true,
    channel: () => "reasoning_summary",
    text: ({ text }) => text,
    withdrawn: (event, replacementOf) => withText(event, ["part", "tokens"], replacementOf),
  },
  "output.annotation": {
    fields: ["url", "title", "file", "name", "quote"],
    grows: false,
    channel: () => ANNOTATION_CHANNEL,
    text: ({ url, title, file, name, quote }) =>
      [title, url, name, file, quote].filter((part) => part !== undefined).join("\n"),
    withdrawn(event, replacementOf) {
      const title = replacementOf(ANNOTATION_CHANNEL);
      return title === undefined ? undefined : redactAnnotation(event, title);
    },
  },
  // It is no text, and judged by its presence alone; its id is what readers see of it.
  "output.blob": {
    fields: ["blob"],
    grows: false,
    channel: () => BLOB_CHANNEL,
    text: ({ blob = "" }) => blob,
    withdrawn: ({ kind }, replacementOf) =>
      replacementOf(BLOB_CHANNEL) === undefined ? undefined : { kind },
  },
  "tool.call": {
    fields: ["name", "arguments"],
    grows: false,
    channel: () => "tool",
    text: ({ arguments: text }) => text,
    withdrawn(event, replacementOf) {
      const name = replacementOf(NAME_CHANNEL);
      const text = replacementOf("tool");
      const isSealed = event.provider_state !== undefined && replacementOf(SEALED_CHANNEL) !== undefined;
      if (name === undefined && text === undefined && !isSealed) return undefined;
      return {
        ...pick(event, ["call_id"]),
        name: name ?? event.name,
        arguments: text ?? event.arguments,
        ...pick(event, ["reasoning_tokens", "audio_input_tokens", "audio_output_tokens", ...DELTA_COUNTS]),
      };
    },
  },
};

const BY_TYPE: ReadonlyMap<string, TextRow<KnownEvent>> = new Map(Object.entries(ROWS));

/** Returns true if events of a type add to a text: those that have a channel. */
export function hasText(type: string): type is TextType {
  return BY_TYPE.has(type);
}

/** Returns true if the next event of the channel continues an event's text. Compares type by type, because it is called for every token. */
export function isDelta<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { type: DeltaType }> {
  const { type } = event;
  return (
    type === "output.delta" ||
    type === "reasoning.delta" ||
    type === "refusal.delta" ||
    type === "reasoning.summary.delta"
  );
}

/**
 * Which text an event adds to: `"0"`, `"1"`, … for the outputs, `reasoning`, `tool` for the arguments of a call, each a text of its own.
 * `refusal`, `reasoning_summary`, `annotation` for what one annotation says, and `blob` for what the model has made. Undefined for events without text. A call has a second text, its name: `NAME_CHANNEL`.
 */
export function channelOf(event: TextEvent): string;
export function channelOf(event: KnownEvent | UnknownEvent): string | undefined;
export function channelOf(event: KnownEvent | UnknownEvent): string | undefined {
  return BY_TYPE.get(event.type)?.channel(event as KnownEvent);
}

/** The text of an event that has a channel. */
export function textOf(event: KnownEvent | UnknownEvent): string {
  return BY_TYPE.get(event.type)?.text(event as KnownEvent) ?? "";
}

/** Returns the text that an event adds to a channel; undefined for an event of another channel. */
export function textIn(event: KnownEvent | UnknownEvent, channel: string): string | undefined {
  if (channel === NAME_CHANNEL) return event.type === "tool.call" ? event.name : undefined;
  return channelOf(event) === channel ? textOf(event) : undefined;
}

/** The fields that the text of a type of events is made of. */
export function textFieldsOf(type: string): readonly string[] {
  return BY_TYPE.get(type)?.fields ?? [];
}

/** Returns the number of the engine's tokens in a delta. The default is 1, for a summary 0. */
export function tokensOf(event: EventDraft): number {
  const otherwise = event.type === "reasoning.summary.delta" ? 0 : 1;
  return "tokens" in event ? (event.tokens ?? otherwise) : otherwise;
}

/**
 * Returns an event as it may be shown; undefined if that is the event itself. Sealed reasoning has no text, and is removed after a halt, or if reasoning was
 * withdrawn.
 */
export function withdrawnForm(
  event: KnownEvent | UnknownEvent,
  replacementOf: ReplacementOf,
): (KnownEvent & { readonly redacted: true }) | undefined {
  if (event.type === "reasoning.sealed") {
    const { seq, type } = event;
    return replacementOf(SEALED_CHANNEL) === undefined
      ? undefined
      : { seq, type, encrypted: "", redacted: true };
  }
  const shown = BY_TYPE.get(event.type)?.withdrawn(event as KnownEvent, replacementOf);
  return shown && ({ seq: event.seq, type: event.type, ...shown, redacted: true } as never);
}

function withText<Event extends EventOf<DeltaType>>(
  event: Event,
  kept: readonly string[],
  replacementOf: ReplacementOf,
): Partial<Event> | undefined {
  const text = replacementOf(channelOf(event));
  return text === undefined ? undefined : ({ text, ...pick(event, kept) } as Partial<Event>);
}

function pick(event: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(event).filter(([name]) => names.includes(name)));
}
