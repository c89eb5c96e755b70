import type { RequestedEvent } from "../event/event.ts";
import type { TurnItem } from "../event/output-item.ts";
import type { Transcript } from "../event/transcript.ts";
import type { GenerationId } from "../id.ts";
import type { AssistantTurn, Message } from "../request/fields/input.ts";
import { isFunctionName } from "../request/fields/tools.ts";
import type { Seq } from "../seq.ts";
import { toMessages } from "../event/effective-request.ts";
import type { Prompt, PromptSegment } from "../event/shapes/prompt.ts";
import { toTurnMessages } from "./turn-messages.ts";

/*
 * The prompt of a turn is that of the turn before it, behind which come that turn's own input and what it has said: so one log tells it, however
 * long the conversation, and the model is given the same first bytes turn by turn.
 */

/** A turn that has ended, as it may be shown. */
export interface EndedTurn {
  readonly requested: Pick<
    RequestedEvent,
    "generation" | "request" | "context" | "prompt" | "media" | "policy"
  >;
  readonly transcript: Transcript;
  /** The last event that `transcript` has. */
  readonly seq: Seq;
}

/** The prompt of a turn that goes on behind another one. A turn that has failed or says nothing is left out, with its question. */
export function promptBehind(turn: EndedTurn): Prompt {
  const { prompt = [] } = turn.requested;
  const { pinned, segment } = toSegments(turn);
  return [...prompt, ...(pinned ? [pinned] : []), ...(segment ? [segment] : [])];
}

/** A generation that was to sum up turns, as a part of a prompt; undefined where it has not ended in order, or says nothing. */
export function toSummary(turn: EndedTurn): PromptSegment | undefined {
  const { status, finishReason, refusal } = turn.transcript;
  if (status !== "completed" || finishReason === "content_filter" || refusal !== "") return undefined;
  const { segment } = toSegments(turn);
  return segment && { ...segment, summary: true };
}

/** Whether a turn has ended while it waited for others, or for a summary: what it was asked is in no prompt then, instructions neither. */
export function hasNeverBegun({
  requested,
  transcript,
}: Pick<EndedTurn, "requested" | "transcript">): boolean {
  return hasWaited(requested) && transcript.ended && transcript.attempt === 0;
}

/** Whether there was something that had to end before it could begin. */
function hasWaited({ context }: Pick<RequestedEvent, "context">): boolean {
  return context?.waits_for !== undefined || context?.summary !== undefined;
}

/** What a turn adds to a prompt: the instructions that it begins with, where nothing came before it, and itself. */
export function toSegments({ requested, transcript, seq }: EndedTurn): {
  pinned: PromptSegment | undefined;
  segment: PromptSegment | undefined;
} {
  if (hasNeverBegun({ requested, transcript })) return { pinned: undefined, segment: undefined };
  const input = toAskedMessages({ requested });
  const isFirst = (requested.prompt ?? []).length === 0 && !hasWaited(requested);
  const rest = isFirst ? input.findIndex(({ role }) => role !== "system" && role !== "developer") : 0;
  const begins = rest === -1 ? input.length : rest;
  const pinned = begins > 0 ? { items: input.slice(0, begins) } : undefined;
  const said =
    transcript.status === "failed"
      ? []
      : withRefusal(toTurnMessages(namedOnly(transcript.turns)), transcript.refusal);
  if (said.length === 0) return { pinned, segment: undefined };
  const segment: PromptSegment = {
    generation: requested.generation as GenerationId,
    seq,
    items: [...input.slice(begins), ...said],
  };
  return { pinned, segment };
}

/** Without calls whose name was withdrawn, and their answers: what stands in its place is no name that a model server takes. */
function namedOnly(turns: readonly TurnItem[]): readonly TurnItem[] {
  const nameless = new Set(
    turns.flatMap((item) => (item.type === "tool_call" && !isFunctionName(item.name) ? item.call_id : [])),
  );
  return nameless.size === 0
    ? turns
    : turns.filter((item) => !("call_id" in item) || !nameless.has(item.call_id));
}

/** What a turn was asked, as later turns are given it. */
export function toAskedMessages({
  requested: { request, media },
}: {
  readonly requested: Pick<RequestedEvent, "request" | "media">;
}): Message[] {
  return toMessages(request.input).map((message) => withBlobs(message, media));
}

/** What a URL has given is kept: later turns are given the same content, whatever the URL may give then. */
function withBlobs(message: Message, media: RequestedEvent["media"]): Message {
  if (!media || (message.role !== "user" && message.role !== "tool")) return message;
  if (message.content === undefined || typeof message.content === "string") return message;
  const content = message.content.map((part) => {
    if (part.type === "text" || part.url === undefined) return part;
    const { url, ...rest } = part;
    const known = media[url];
    return known ? { ...rest, blob: known.blob } : part;
  });
  return { ...message, content };
}

/** Said in place of an answer, or behind the beginning of one. */
function withRefusal(said: Message[], refusal: string): Message[] {
  if (refusal === "") return said;
  const last = said.at(-1);
  const isOpen = last?.role === "assistant" && last.tool_calls === undefined;
  const text = isOpen && typeof last.content === "string" ? last.content : "";
  const content: AssistantTurn["content"] = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    { type: "refusal", refusal },
  ];
  return [...(isOpen ? said.slice(0, -1) : said), { role: "assistant", content }];
}
