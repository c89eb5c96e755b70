import { hash } from "node:crypto";
import * as conversations from "@reprise/conversations";
import { type GenerationLog } from "@reprise/stream";
import {
  bytesOf,
  type ConversationRecord,
  type ConversationSummary,
  deriveGenerationId,
  fitPrompt,
  type FullPolicy,
  type GenerationRef,
  type GenerationRequest,
  isPinned,
  type Policy,
  type Prompt,
  type PromptRoom,
  RepriseError,
  segmentId,
  type TenantId,
  toSummary,
  toUnixMs,
  type TurnContext,
  turnsBeyondHalf,
  unixNow,
  withoutMedia,
} from "@reprise/protocol";
import type { NodeConversations } from "./open-conversations.ts";

/*
 * A conversation that wants summaries has its oldest turns summed up once they take more than half of their room, by an ordinary generation of the same
 * tenant, subject and end user, under their limits, budgets and moderation. It is created after a turn has begun; later turns that have no room for the old
 * turns are given the summary in their place. A turn for which there is none yet is without them. A summary that has failed, or of whose turns text was
 * withdrawn, is replaced by another one.
 *
 * The conversation's row names a summary before its generation exists, so that an erasure finds it. Its id is derived from the turns it sums up: every
 * node, and every retry, makes the same one.
 */

/** A generation that sums up turns. */
export interface PlannedSummary {
  /** Gives the generation its id. It has blanks, which no client's key has. */
  readonly key: string;
  readonly request: GenerationRequest;
  readonly prompt: Prompt;
  readonly context: TurnContext;
  readonly named: ConversationSummary;
}

const ASK =
  "Sum up the conversation so far for yourself, for you will continue it without seeing it. Keep names, numbers, decisions, what was asked for and what is still open. Answer with the summary alone, in the language of the conversation.";
const MOST_TOKENS = 1_024;
/** A token is 8 bytes at most in nearly all languages, as JSON. */
const MOST_BYTES = 8 * MOST_TOKENS + 512;
/** A summary with less room says too little. */
const LEAST_BYTES = 1_024;
/** The question, and names of fields. */
const OTHER_BYTES = 512;
const BYTES_PER_TOKEN = 4;
/** Truncation leaves half of the room free: a quarter is the summary's, the other is for the turns that follow. */
const SHARE = 4;
/** A summary is made again once turns of an eighth of the room are to be added. */
const GROWTH = 8;
/** A turn may wait for it. */
const TIMEOUTS: Policy["timeouts"] = { queue: { after_ms: 30_000 }, total: { after_ms: 120_000 } };
/** The summary that a conversation's row names, for one prompt. */
export type FoundSummary =
  /** There is none, or it is not for this prompt, or in it. */
  | { readonly kind: "none" }
  /** It runs, or says something; `covered` are the turns of the prompt that it sums up. */
  | { readonly kind: "usable"; readonly summary: ConversationSummary; readonly covered: Prompt }
  /** It has failed, says too much, is too old, or text of its turns was withdrawn since. */
  | { readonly kind: "spent"; readonly summary: ConversationSummary };

const NO_SUMMARY: FoundSummary = { kind: "none" };

interface SummarySources {
  readonly log: GenerationLog;
  readonly conversations: Pick<NodeConversations, "retentionMs">;
}

/**
 * Finds the summary of turns that a prompt has, or had to leave out.
 * @throws RepriseError `broker_unavailable`
 */
export async function findSummary(
  sources: SummarySources,
  tenant: TenantId,
  { summary }: ConversationRecord,
  whole: Prompt,
): Promise<FoundSummary> {
  if (!summary) return NO_SUMMARY;
  const ids = whole.map(segmentId);
  // After a fork from an older turn, it may be of turns that this prompt must not have.
  const isOfPrompt = ids.includes(summary.through) || ids.includes(summary.turn);
  if (!isOfPrompt || ids.includes(summary.generation)) return NO_SUMMARY;
  const state = await readSummary(sources, tenant, summary);
  if (state === "missing") return NO_SUMMARY;
  if (state === "spent") return { kind: "spent", summary };
  const covered = whole.slice(0, ids.indexOf(summary.through) + 1).filter((segment) => !isPinned(segment));
  return { kind: "usable", summary, covered };
}

async function readSummary(
  { log, conversations: { retentionMs } }: SummarySources,
  tenant: TenantId,
  { generation, bytes }: ConversationSummary,
): Promise<"missing" | "usable" | "spent"> {
  try {
    const { events } = await log.reader.readLog({ tenant, generation });
    if (events.length === 0) return "missing";
    const turn = conversations.foldTurn(events);
    // The worker of a turn that waits for it reads its log.
    if (!turn || unixNow() - toUnixMs(turn.requested.created_at) > retentionMs / 2) return "spent";
    if (!turn.transcript.ended) return "usable";
    const segment = toSummary(turn);
    if (!segment || bytesOf(segment) > bytes) return "spent";
    const verified = await conversations.verifyPrompt(log, tenant, [segment]);
    return verified.length > 0 ? "usable" : "spent";
  } catch (error) {
    if (error instanceof RepriseError && GONE.has(error.code)) return "spent";
    throw error;
  }
}

const GONE: ReadonlySet<string> = new Set(["generation_expired", "generation_erased", "cursor_expired"]);

type Fitted = ReturnType<typeof fitPrompt> & { readonly summary?: TurnContext["summary"] };

/**
 * Fits a prompt, with the summary in the place of the turns that it sums up, if these have no room or are left out already.
 * @throws RepriseError `conversation_full`
 */
export function fitWithSummary(
  found: FoundSummary,
  whole: Prompt,
  { room, policy }: { readonly room: PromptRoom; readonly policy: FullPolicy },
): Fitted {
  const plain = fitPrompt(whole, room, policy);
  if (found.kind !== "usable") return plain;
  const { summary, covered } = found;
  const { generation, turns, bytes } = summary;
  const isNeeded = plain.dropped > 0 || covered.length === 0;
  if (!isNeeded || bytes > bytesIn(room) / SHARE) return plain;
  const rest = whole.filter((segment) => !covered.includes(segment));
  const left = {
    ...room,
    bytes: room.bytes - bytes,
    tokens: room.tokens === undefined ? undefined : room.tokens - bytes / BYTES_PER_TOKEN,
    // An engine has counted all of them together.
    counted: undefined,
  };
  try {
    const fitted = fitPrompt(rest, left, policy);
    return { ...fitted, dropped: fitted.dropped + covered.length, summary: { generation, turns, bytes } };
  } catch (error) {
    if (error instanceof RepriseError && error.code === "conversation_full") return plain;
    throw error;
  }
}

interface ToSumUp {
  /** The turn whose prompt has the turns. */
  readonly ref: GenerationRef;
  readonly row: ConversationRecord;
  readonly turn: number;
  /** The prompt before anything is left out of it. */
  readonly whole: Prompt;
  readonly room: PromptRoom;
  readonly found: FoundSummary;
  readonly fitted: Fitted;
  readonly shards: number;
}

/** Plans a summary; undefined if the conversation wants none, or its oldest turns have room or one already. */
export function planSummary(plan: ToSumUp): PlannedSummary | undefined {
  const { ref, row, turn, whole, room, found, shards } = plan;
  const { id: conversation, when_full: whenFull, subject, end_user } = row;
  if (typeof whenFull === "string") return undefined;
  const old = turnsToSumUp(plan);
  const last = old.at(-1);
  const bytes = Math.floor(Math.min(bytesIn(room) / SHARE, MOST_BYTES));
  if (!last || bytes < LEAST_BYTES) return undefined;
  const { model } = whenFull;
  const most = Math.min(MOST_TOKENS, Math.floor((bytes - OTHER_BYTES) / BYTES_PER_TOKEN));
  const through = segmentId(last);
  const instead = found.kind === "spent" ? ` ${found.summary.generation}` : "";
  const key = `${conversation} ${through} ${model} ${most}${instead}`;
  const generation = deriveGenerationId(ref.tenant, key, shards, (text) => hash("sha256", text, "buffer"));
  return {
    key,
    request: {
      model,
      input: ASK,
      conversation,
      ...(subject !== undefined && { subject }),
      ...(end_user !== undefined && { end_user }),
      max_output_tokens: most,
      policy: { timeouts: TIMEOUTS },
    },
    // Only text is summed up.
    prompt: [...whole.filter(({ summary }) => summary), ...old].map((segment) =>
      withoutMedia(segment, () => true),
    ),
    context: { conversation, turn, summarizes: old.length },
    named: { generation, turn: ref.generation, nth: turn, through, turns: old.length, bytes },
  };
}

function turnsToSumUp({ whole, room, found, fitted }: ToSumUp): Prompt {
  const { left } = fitted;
  const covered = found.kind === "usable" ? found.covered : [];
  if (fitted.summary) return left.length > 0 ? [...covered, ...left] : [];
  const old = left.length > 0 ? left : turnsBeyondHalf(whole, room);
  if (covered.length === 0) return old;
  const added = old.filter((segment) => !covered.includes(segment));
  const addedBytes = added.reduce((sum, segment) => sum + bytesOf(segment), 0);
  return addedBytes > bytesIn(room) / GROWTH ? old : [];
}

/** Returns the bytes of text that have room. */
function bytesIn({ bytes, tokens }: PromptRoom): number {
  return Math.min(bytes, tokens === undefined ? bytes : tokens * BYTES_PER_TOKEN);
}
