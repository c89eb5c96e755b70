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
 * The prompt of a turn is that of the turn before it, followed by that turn's own input and output. So one log has the whole prompt, however long the
 * conversation, and the first bytes that the model is given stay the same turn by turn.
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

/** Returns the prompt of a turn that follows another one. A turn that has failed or has no output is left out, with its question. */
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

/** Returns true if a turn has ended while it waited for others, or for a summary. Its input is then in no prompt, and neither are its instructions. */
export function hasNeverBegun({
  requested,
  transcript,
}: Pick<EndedTurn, "requested" | "transcript">): boolean {
  return hasWaited(requested) && transcript.ended && transcript.attempt === 0;
}

/** Returns true if other generations had to end before it could begin. */
function hasWaited({ context }: Pick<RequestedEvent, "context">): boolean {
  return context?.waits_for !== undefined || context?.summary !== undefined;
}

/** Returns the segments that a turn adds to a prompt: the instructions that it begins with, if it is the first, and itself. */
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

/** Leaves out calls whose name was withdrawn, and their answers: the replacement is not a name that a model server accepts. */
function namedOnly(turns: readonly TurnItem[]): readonly TurnItem[] {
  const nameless = new Set(
    turns.flatMap((item) => (item.type === "tool_call" && !isFunctionName(item.name) ? item.call_id : [])),
  );
  return nameless.size === 0
    ? turns
    : turns.filter((item) => !("call_id" in item) || !nameless.has(item.call_id));
}

/** Returns the input of a turn in the form that later turns are given. */
export function toAskedMessages({
  requested: { request, media },
}: {
  readonly requested: Pick<RequestedEvent, "request" | "media">;
}): Message[] {
  return toMessages(request.input).map((message) => withBlobs(message, media));
}

/** Replaces URLs by the blobs that they were fetched into: later turns get the same content, even if the URL's content has changed. */
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

/** Adds a refusal, which replaces an answer or follows the beginning of one. */
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

/**
 * The prompt of the first turn of a conversation that was created with items: the instructions that they begin with, which stay, and then a part for
 * each message of a user with what follows it, each of which may be left out.
 * @param before instructions that come before the items
 */
export function toImportedPrompt(items: readonly Message[] = [], before: readonly Message[] = []): Prompt {
  const rest = items.findIndex(({ role }) => role !== "system" && role !== "developer");
  const begins = rest === -1 ? items.length : rest;
  const instructions = [...before, ...items.slice(0, begins)];
  const segments: PromptSegment[] = instructions.length > 0 ? [{ items: instructions }] : [];
  for (let from = begins, to = from; from < items.length; from = to) {
    const next = items.findIndex(({ role }, i) => i > from && role === "user");
    to = next === -1 ? items.length : next;
    segments.push({ imported: from + 1, items: items.slice(from, to) });
  }
  return segments;
}
