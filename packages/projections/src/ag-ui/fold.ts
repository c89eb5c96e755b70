import { type KnownEvent, textsOf, toOutputText, type UnknownEvent } from "@reprise/protocol";
import { isUntold } from "../is-untold.ts";
import { toEnd, toRestarted } from "./ends.ts";
import type { AgUiEvent } from "./events.ts";
import { messageId, reasoningId, type RunNames } from "./run-names.ts";

/** A message that was begun and not ended: a text message, or a reasoning message, with its `part` of a summary. */
type Open = { readonly kind: "text" } | { readonly kind: "reasoning"; readonly part: string };

/**
 * A run as AG-UI tells it, without its text. One text message is a turn's: it is begun and ended as often as reasoning or calls lie in between, under
 * one id, which is how clients put its pieces together.
 */
export interface RunState {
  readonly names: RunNames;
  /** Number of restarts after shown text to skip. A reader that joins after them has not seen the text that they retracted. */
  readonly passes: number;
  readonly restarts: number;
  readonly hasBegun: boolean;
  readonly hasEnded: boolean;
  /** True if moderation has stopped the run: then that is the reason for its end, however it ends. */
  readonly isHalted: boolean;
  readonly open: Open | undefined;
  /** Number of earlier turns, each with all its calls answered. */
  readonly turn: number;
  /** Number of reasoning messages that were begun. */
  readonly reasonings: number;
  /** The last event that has shown something; what it had as its text does not matter. */
  readonly shownSeq: number;
  /** The calls without an answer. */
  readonly calls: readonly { readonly seq: number; readonly id: string }[];
}

export interface Folded {
  readonly state: RunState;
  readonly events: readonly AgUiEvent[];
}

export function beginRun(names: RunNames, passes = 0): RunState {
  return {
    names,
    passes,
    restarts: 0,
    hasBegun: false,
    hasEnded: false,
    isHalted: false,
    open: undefined,
    turn: 0,
    reasonings: 0,
    shownSeq: 0,
    calls: [],
  };
}

/** Adds an event of the log. After the run's end, and after a restart that ends it, emits no events. */
export function foldRun(before: RunState, event: KnownEvent | UnknownEvent): Folded {
  if (before.hasEnded) return { state: before, events: [] };
  if (isUntold(event)) return { state: untold(before, event), events: [] };
  if (before.hasBegun) return foldEvent(before, event);
  const { state, events } = foldEvent({ ...before, hasBegun: true }, event);
  return { state, events: [runStarted(state.names), ...events] };
}

export function runStarted({ threadId, runId, model }: RunNames): AgUiEvent {
  return { type: "RUN_STARTED", threadId, runId, metadata: { reprise: { model } } };
}

/** Begins again what is open, for a reader that comes now. */
export function reopenEvents(state: RunState): readonly AgUiEvent[] {
  if (!state.open) return [];
  return state.open.kind === "text" ? [textStart(state)] : reasoningStart(state);
}

function foldEvent(state: RunState, event: KnownEvent | UnknownEvent): Folded {
  switch (event.type) {
    case "output.delta":
      return (event.output ?? 0) === 0 ? withText(state, event) : { state, events: [] };
    case "refusal.delta":
      return withText(state, event);
    case "reasoning.delta":
      return withReasoning(state, event, "own");
    case "reasoning.summary.delta":
      return withReasoning(state, event, `summary.${event.part ?? 0}`);
    case "reasoning.sealed":
      return withSealed(state, event);
    case "tool.call":
      return withCall(state, event);
    case "tool.result":
      return withResult(state, event);
    case "output.annotation": {
      const { seq: _, type: __, ...annotation } = event;
      return {
        state: { ...state, shownSeq: event.seq },
        events: [{ type: "CUSTOM", name: "reprise.annotation", value: annotation }],
      };
    }
    case "output.blob": {
      const { seq: _, type: __, ...blob } = event;
      return {
        state: { ...state, shownSeq: event.seq },
        events: [{ type: "CUSTOM", name: "reprise.blob", value: blob }],
      };
    }
    case "output.rewind":
      return rewound(state, event);
    case "moderation.halted":
      return { state: { ...state, isHalted: true }, events: [] };
    case "generation.completed":
    case "generation.failed":
    case "generation.cancelled": {
      const closed = close(state);
      const calls = closed.state.calls.map(({ id }) => id);
      const end = toEnd(state, event, calls);
      return { state: { ...closed.state, hasEnded: true }, events: [...closed.events, end] };
    }
    default:
      // Attempts and moderation's own events are not told, nor is a type of a later version.
      return { state, events: [] };
  }
}

type Said<Type extends KnownEvent["type"]> = Extract<KnownEvent, { type: Type }>;

function withText(before: RunState, { seq, text }: Said<"output.delta" | "refusal.delta">): Folded {
  const content = {
    type: "TEXT_MESSAGE_CONTENT",
    messageId: messageId(before.names, before.turn),
    delta: text,
  } as const;
  if (before.open?.kind === "text") return { state: { ...before, shownSeq: seq }, events: [content] };
  const closed = close(before);
  const state: RunState = { ...closed.state, open: { kind: "text" }, shownSeq: seq };
  return { state, events: [...closed.events, textStart(state), content] };
}

function withReasoning(
  before: RunState,
  { seq, text }: Said<"reasoning.delta" | "reasoning.summary.delta">,
  part: string,
): Folded {
  const { state, events } = openReasoning(before, part);
  const id = reasoningId(state.names, state.reasonings);
  return {
    state: { ...state, shownSeq: seq },
    events: [...events, { type: "REASONING_MESSAGE_CONTENT", messageId: id, delta: text }],
  };
}

function openReasoning(before: RunState, part: string): Folded {
  if (before.open?.kind === "reasoning" && before.open.part === part) return { state: before, events: [] };
  const closed = close(before);
  const reasonings = closed.state.reasonings + 1;
  const state: RunState = { ...closed.state, open: { kind: "reasoning", part }, reasonings };
  return { state, events: [...closed.events, ...reasoningStart(state)] };
}

/** Sealed reasoning belongs to the open reasoning message, or to a message of its own. */
function withSealed(before: RunState, { seq, encrypted, id }: Said<"reasoning.sealed">): Folded {
  const opened =
    before.open?.kind === "reasoning" ? { state: before, events: [] } : openReasoning(before, "sealed");
  const closed = close(opened.state);
  return {
    state: { ...closed.state, shownSeq: seq },
    events: [
      ...opened.events,
      ...closed.events,
      {
        type: "REASONING_ENCRYPTED_VALUE",
        subtype: "message",
        entityId: reasoningId(closed.state.names, closed.state.reasonings),
        encryptedValue: encodeSealed(encrypted, id),
      },
    ],
  };
}

function withCall(before: RunState, { seq, call_id: id, name, arguments: args }: Said<"tool.call">): Folded {
  const { state, events } = close(before);
  return {
    state: { ...state, shownSeq: seq, calls: [...state.calls, { seq, id }] },
    events: [
      ...events,
      {
        type: "TOOL_CALL_START",
        toolCallId: id,
        toolCallName: name,
        parentMessageId: messageId(state.names, state.turn),
      },
      { type: "TOOL_CALL_ARGS", toolCallId: id, delta: args },
      { type: "TOOL_CALL_END", toolCallId: id },
    ],
  };
}

/** The next turn begins after the last answer; a rewind never reaches before an answer. */
function withResult(before: RunState, event: Said<"tool.result">): Folded {
  const { state, events } = close(before);
  const id = event.call_id;
  const calls = state.calls.filter((call) => call.id !== id);
  const turn = calls.length === 0 ? state.turn + 1 : state.turn;
  return {
    state: { ...state, shownSeq: event.seq, calls, turn },
    events: [
      ...events,
      {
        type: "TOOL_CALL_RESULT",
        messageId: `tool_${state.names.prefix}_${id}`,
        toolCallId: id,
        content: toResultText(event),
        role: "tool",
      },
    ],
  };
}

/** A tool's answer as text; of parts, what they say. */
function toResultText({ output, content }: Said<"tool.result">): string {
  if (output !== undefined) return toOutputText(output);
  return textsOf({ role: "tool", call_id: "-", content: content ?? [] }).join("\n");
}

/** Calls that an interrupt takes back wait for no answer. */
function untold(before: RunState, event: KnownEvent | UnknownEvent): RunState {
  if (event.type !== "output.rewind") return before;
  return { ...before, calls: before.calls.filter(({ seq }) => seq <= event.to_seq) };
}

function rewound(before: RunState, { to_seq: toSeq, reason }: Said<"output.rewind">): Folded {
  if (before.shownSeq <= toSeq) return { state: before, events: [] };
  const restarts = before.restarts + 1;
  if (restarts > before.passes)
    return { state: { ...before, restarts, hasEnded: true }, events: [toRestarted(reason)] };
  const { state, events } = close(before);
  const calls = state.calls.filter(({ seq }) => seq <= toSeq);
  return { state: { ...state, restarts, shownSeq: toSeq, calls }, events };
}

function close(state: RunState): Folded {
  if (!state.open) return { state, events: [] };
  const closed = { ...state, open: undefined };
  if (state.open.kind === "text") {
    const id = messageId(state.names, state.turn);
    return { state: closed, events: [{ type: "TEXT_MESSAGE_END", messageId: id }] };
  }
  const id = reasoningId(state.names, state.reasonings);
  return {
    state: closed,
    events: [
      { type: "REASONING_MESSAGE_END", messageId: id },
      { type: "REASONING_END", messageId: id },
    ],
  };
}

function textStart({ names, turn }: RunState): AgUiEvent {
  return { type: "TEXT_MESSAGE_START", messageId: messageId(names, turn), role: "assistant" };
}

function reasoningStart({ names, reasonings }: RunState): readonly AgUiEvent[] {
  const id = reasoningId(names, reasonings);
  return [
    { type: "REASONING_START", messageId: id },
    { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" },
  ];
}

/** Sealed reasoning in the one string that the protocol has for it; clients hand it back as it is. */
function encodeSealed(encrypted: string, id: string | undefined): string {
  return JSON.stringify({ encrypted, ...(id !== undefined && { id }) });
}
