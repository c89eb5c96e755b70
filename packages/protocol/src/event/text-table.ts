import { ANNOTATION_CHANNEL, redactAnnotation } from "./annotation.ts";
import type { EventDraft, KnownEvent, UnknownEvent } from "./event.ts";
import { BLOB_CHANNEL, NAME_CHANNEL, SEALED_CHANNEL } from "./withdrawn-text.ts";

/*
 * Every text that a model has said and a person may read: in which event it stands, in which channel moderation judges it, and how the event reads
 * where it was withdrawn. Text in an event without a row is not judged; §12.8 of PROTOCOL.md says of each why.
 */

type EventOf<Type> = Extract<KnownEvent, { type: Type }>;

type DeltaType = "output.delta" | "reasoning.delta" | "refusal.delta" | "reasoning.summary.delta";
export type TextType = DeltaType | "tool.call" | "output.annotation" | "output.blob";
export type TextEvent = EventOf<TextType>;

/** What stands in the place of an event's text in a channel; undefined where nothing of it was withdrawn. */
type ReplacementOf = (channel: string) => string | undefined;

interface TextRow<Event> {
  /** Of these fields `text` is made, and `name`. */
  readonly fields: readonly string[];
  /** Whether the next event of the channel goes on with the text. Each of the others is a text by itself. */
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
    withdrawn: (event, replacementOf) => withText(event, ["output", ...DELTA_COUNTS], replacementOf),
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

/** Whether events of a type add to a text: those that have a channel. */
export function hasText(type: string): type is TextType {
  return BY_TYPE.has(type);
}

/** Whether an event's text goes on in the next one of its channel. Compared type by type, because each token is asked for. */
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

/** What an event adds to a channel; undefined where it is of another one. */
export function textIn(event: KnownEvent | UnknownEvent, channel: string): string | undefined {
  if (channel === NAME_CHANNEL) return event.type === "tool.call" ? event.name : undefined;
  return channelOf(event) === channel ? textOf(event) : undefined;
}

/** The fields that the text of a type of events is made of. */
export function textFieldsOf(type: string): readonly string[] {
  return BY_TYPE.get(type)?.fields ?? [];
}

/** Of a delta: how many of the engine's tokens it counts for. A summary says so, or is none by itself. */
export function tokensOf(event: EventDraft): number {
  const otherwise = event.type === "reasoning.summary.delta" ? 0 : 1;
  return "tokens" in event ? (event.tokens ?? otherwise) : otherwise;
}

/** An event as it is to be shown; undefined where that is the event itself. Sealed reasoning has no text, and none is left behind a halt, or where reasoning was withdrawn. */
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
