import { isDelta, type KnownEvent, NO_SEQ, type Seq, toLineJson, type UnknownEvent } from "@reprise/protocol";
import type { Frame, Projected, ProjectedRun, Projection } from "../projection.ts";
import { isUntold } from "../is-untold.ts";
import { toProtocolId } from "../protocol-id.ts";
import { TextPlaces } from "../text-places.ts";
import {
  toChatAnnotation,
  type ChatFinish,
  toCancelledFinish,
  toChatFinish,
  toChatUsage,
  toChatLogprobs,
} from "./answer-parts.ts";
import { type ChatChoice, type ChatChunk, type ChatDelta, type ChatHead, toChatCall } from "./chunk.ts";
import { RESTARTED, toChatFailure } from "./errors.ts";

/** Progress of a stream. */
export interface ChatState {
  readonly head: ChatHead;
  /** The chunk of a plain text up to that text, as JSON. */
  readonly beforeText: string;
  readonly hasBegun: boolean;
  /** Number of tool calls. */
  readonly calls: number;
  /** The last event whose words are among the frames. */
  readonly shownSeq: Seq;
  /** Places of the texts of output 0, for annotations. */
  readonly places: TextPlaces;
  readonly isHalted: boolean;
  readonly hasEnded: boolean;
}

export interface ChatOptions {
  readonly includeUsage: boolean;
}

/** After the last chunk: a client reads no further. */
const DONE: Frame = { data: "[DONE]" };

/**
 * The chunks of `POST /v1/chat/completions`. The first chunk has the role. The last one has the finish reason; then the usage follows if it was requested,
 * then `[DONE]`. A failure, or a restart after sent text, becomes an error instead.
 */
export function chatProjection({ includeUsage }: ChatOptions): Projection<ChatState> {
  const nullUsage = includeUsage ? { usage: null } : {};
  const afterText = includeUsage ? '}}],"usage":null}' : "}}]}";

  function toFrame(
    head: ChatHead,
    choice: Omit<ChatChoice, "index" | "finish_reason"> & Partial<ChatFinish>,
  ) {
    const chunk: ChatChunk = {
      ...head,
      choices: [{ index: 0, finish_reason: null, ...choice }],
      ...nullUsage,
    };
    return { data: toLineJson(chunk) };
  }

  function usageFrames({ head }: ChatState, usage: Parameters<typeof toChatUsage>[0]): Frame[] {
    if (!includeUsage) return [];
    const chunk: ChatChunk = { ...head, choices: [], usage: toChatUsage(usage) };
    return [{ data: toLineJson(chunk) }];
  }

  /** The next state and its frames, after the frame with the role if this is the first. */
  function told(state: ChatState, changes: Partial<ChatState>, frames: Frame[]): Projected<ChatState> {
    const opening = state.hasBegun
      ? frames
      : [toFrame(state.head, { delta: { role: "assistant", content: "" } }), ...frames];
    return { state: { ...state, ...changes, hasBegun: true }, frames: opening };
  }

  function said(
    state: ChatState,
    seq: Seq,
    delta: ChatDelta,
    more: Partial<ChatState> = {},
    choice: Pick<ChatChoice, "logprobs"> = {},
  ): Projected<ChatState> {
    return told(state, { ...more, shownSeq: seq }, [toFrame(state.head, { delta, ...choice })]);
  }

  function ended(
    state: ChatState,
    finish: ChatFinish,
    usage: Parameters<typeof toChatUsage>[0],
  ): Projected<ChatState> {
    return told(state, { hasEnded: true }, [
      toFrame(state.head, { delta: {}, ...finish }),
      ...usageFrames(state, usage),
      DONE,
    ]);
  }

  function broken(state: ChatState, error: object): Projected<ChatState> {
    return { state: { ...state, hasEnded: true }, frames: [{ data: toLineJson(error) }] };
  }

  function project(state: ChatState, event: KnownEvent | UnknownEvent): Projected<ChatState> {
    if (state.hasEnded || isUntold(event)) return { state, frames: [] };
    if (event.type === "output.delta" && isPlain(state, event)) {
      const { seq, text } = event;
      const data = `${state.beforeText}${toLineJson(text)}${afterText}`;
      return { state: { ...state, places: state.places.with(seq, text), shownSeq: seq }, frames: [{ data }] };
    }
    if (isDelta(event)) return projectDelta(state, event, said);
    switch (event.type) {
      case "generation.started":
        return told(state, {}, []);
      case "tool.call": {
        const call = { index: state.calls, ...toChatCall(event) };
        return said(state, event.seq, { tool_calls: [call] }, { calls: state.calls + 1 });
      }
      case "output.annotation": {
        if (event.kind !== "url") return { state, frames: [] };
        const annotation = toChatAnnotation(event, state.places);
        return said(state, event.seq, { annotations: annotation ? [annotation] : [] });
      }
      case "output.blob": {
        const { kind, blob: id, media_type: type, bytes } = event;
        const blob = {
          kind,
          ...(id !== undefined && { id }),
          ...(type !== undefined && { media_type: type }),
          ...(bytes !== undefined && { bytes }),
        };
        return said(state, event.seq, { blobs: [blob] });
      }
      case "output.rewind":
        return event.to_seq < state.shownSeq ? broken(state, RESTARTED) : { state, frames: [] };
      case "moderation.halted":
        return { state: { ...state, isHalted: true }, frames: [] };
      case "generation.completed":
        return ended(state, toChatFinish(event.finish_reason), event.usage);
      case "generation.cancelled":
        return ended(state, toCancelledFinish(state.isHalted), event.usage);
      case "generation.failed":
        return broken(state, toChatFailure(event.error));
      default:
        return { state, frames: [] };
    }
  }

  return {
    name: includeUsage ? "openai-chat+usage" : "openai-chat",
    isTextless: true,
    begin({ generation, model, createdAtMs }: ProjectedRun) {
      const head: ChatHead = {
        id: toProtocolId("chatcmpl-", generation),
        object: "chat.completion.chunk",
        created: Math.floor(createdAtMs / 1_000),
        model,
      };
      return {
        head,
        beforeText: `${toLineJson(head).slice(0, -1)},"choices":[{"index":0,"finish_reason":null,"delta":{"content":`,
        hasBegun: false,
        calls: 0,
        shownSeq: NO_SEQ,
        places: new TextPlaces(),
        isHalted: false,
        hasEnded: false,
      };
    },
    project,
    hasEnded: ({ hasEnded }) => hasEnded,
  };
}

type OutputDelta = Extract<KnownEvent, { type: "output.delta" }>;

/** True for text that is all of its chunk: nearly every event. */
function isPlain({ hasBegun }: ChatState, { output, logprobs }: OutputDelta): boolean {
  return hasBegun && !output && !logprobs;
}

type DeltaEvent = Extract<
  KnownEvent,
  { type: "output.delta" | "reasoning.delta" | "refusal.delta" | "reasoning.summary.delta" }
>;

type Said = (
  state: ChatState,
  seq: Seq,
  delta: ChatDelta,
  more?: Partial<ChatState>,
  choice?: Pick<ChatChoice, "logprobs">,
) => Projected<ChatState>;

function projectDelta(state: ChatState, event: DeltaEvent, said: Said): Projected<ChatState> {
  const { seq, text } = event;
  switch (event.type) {
    case "output.delta": {
      // One choice is all that is asked for.
      if (event.output) return { state, frames: [] };
      const { logprobs } = event;
      const places = state.places.with(seq, text);
      return said(
        state,
        seq,
        { content: text },
        { places },
        logprobs && { logprobs: { content: toChatLogprobs(logprobs), refusal: null } },
      );
    }
    case "reasoning.delta":
      return said(state, seq, { reasoning: text, reasoning_content: text });
    case "refusal.delta":
      return said(state, seq, { refusal: text });
    case "reasoning.summary.delta":
      return { state, frames: [] };
  }
}
