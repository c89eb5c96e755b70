import type { KnownEvent, UnknownEvent } from "@reprise/protocol";
import type { AgUiEvent } from "../ag-ui/events.ts";
import { beginRun, foldRun, type RunState } from "../ag-ui/fold.ts";
import { toFrame } from "../ag-ui/project.ts";
import { messageId, toRunNames } from "../ag-ui/run-names.ts";
import { isUntold } from "../is-untold.ts";
import type { Frame, Projection } from "../projection.ts";

export interface TanstackState {
  readonly run: RunState;
  /** The text of the turn, where it is to be a value; undefined where it is not, or the model has refused one. */
  readonly raw: string | undefined;
  /** The run's end, once it was told. */
  readonly end: Frame | undefined;
}

export interface TanstackOptions {
  /** The request's: it names the run as its client does. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** True if the request asks for JSON: then the text is sent as a structured output. */
  readonly isStructured?: boolean;
}

/** A generation as the chunks of TanStack AI: AG-UI's events, with what its clients read of `metadata.tanstack` and of `CUSTOM`. */
export function tanstackProjection({
  metadata,
  isStructured = false,
}: TanstackOptions = {}): Projection<TanstackState> {
  return {
    name: "tanstack",
    isTextless: !isStructured,
    begin: (run) => ({
      run: beginRun(toRunNames(run, metadata)),
      raw: isStructured ? "" : undefined,
      end: undefined,
    }),
    project(before, event) {
      const { state: run, events } = foldRun(before.run, event);
      const raw = toRaw(before.raw, event);
      const frames = events.flatMap((told) => toChunks(told, event, run, raw)).map(toFrame);
      const end = run.hasEnded && !before.run.hasEnded ? frames.at(-1) : before.end;
      return { state: { run, raw, end }, frames };
    },
    hasEnded: ({ run }) => run.hasEnded,
  };
}

/**
 * Frames for a client that has all chunks and reconnects: its connection broke between the end of the run and the end of the response, and it needs an end
 * on the new connection. The frame has no number, since a client skips a number that it has.
 */
export function endAgain({ end }: TanstackState): readonly Frame[] {
  return end ? [end] : [];
}

/** @param raw the text so far, where it is to be a value */
function toChunks(
  told: AgUiEvent,
  event: KnownEvent | UnknownEvent,
  { names, turn }: RunState,
  raw: string | undefined,
): readonly AgUiEvent[] {
  const { threadId, runId, model } = names;
  switch (told.type) {
    case "RUN_STARTED":
      return [{ ...told, metadata: { tanstack: { model } } }];
    case "TEXT_MESSAGE_START": {
      const start = { ...told, metadata: { tanstack: { model } } };
      const { messageId: id } = told;
      return raw === undefined
        ? [start]
        : [start, { type: "CUSTOM", name: "structured-output.start", value: { messageId: id } }];
    }
    case "TOOL_CALL_END":
      // The client runs the tool by this; the calls of its next run's history are those that it has answered.
      return event.type === "tool.call"
        ? [told, { type: "CUSTOM", name: "tool-input-available", value: toToolInput(event) }]
        : [told];
    case "RUN_FINISHED": {
      const reason = event.type === "generation.completed" ? event.finish_reason : "other";
      const end = { ...told, metadata: { tanstack: { finishReason: toFinishReason(reason), model } } };
      if (raw === undefined || reason !== "stop") return [end];
      const value = { object: toValue(raw), raw, messageId: messageId(names, turn) };
      return [{ type: "CUSTOM", name: "structured-output.complete", value }, end];
    }
    case "RUN_ERROR":
      return [{ ...told, metadata: { tanstack: { threadId, runId } } }];
    default:
      return [told];
  }
}

function toRaw(before: string | undefined, event: KnownEvent | UnknownEvent): string | undefined {
  if (before === undefined || event.type === "refusal.delta") return undefined;
  if (isUntold(event)) return before;
  if (event.type === "tool.result") return "";
  return event.type === "output.delta" && (event.output ?? 0) === 0 ? before + event.text : before;
}

/** Converts to TanStack AI's finish reasons; it knows no others. */
function toFinishReason(reason: string): "stop" | "length" | "tool_calls" {
  return reason === "length" || reason === "tool_calls" ? reason : "stop";
}

function toToolInput({ call_id: toolCallId, name: toolName, arguments: args }: CallEvent): object {
  return { toolCallId, toolName, input: args === "" ? {} : toValue(args) };
}

type CallEvent = Extract<KnownEvent, { type: "tool.call" }>;

/** `null` for what is no JSON, so that the number of frames does not depend on the text. */
function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
