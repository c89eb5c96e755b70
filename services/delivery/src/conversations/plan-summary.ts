import { hash } from "node:crypto";
import {
  type ConversationRecord,
  deriveGenerationId,
  type GenerationRequest,
  type Policy,
  type Prompt,
  type TenantId,
  type TurnContext,
  withoutMedia,
} from "@reprise/protocol";

/*
 * What does not fit a turn's model is summed up by a generation of the conversation that is no turn of it: an ordinary one of the same tenant, subject
 * and end user, under their limits, budgets and moderation. Its id is derived from what it sums up, so that every node, and every try, makes the same one.
 */

/** A generation that is to sum up turns. */
export interface PlannedSummary {
  /** What gives it its id. It has blanks, which no client's key has. */
  readonly key: string;
  readonly request: GenerationRequest;
  readonly prompt: Prompt;
  readonly context: TurnContext;
  /** What the turn that needs it says of it. */
  readonly needed: NonNullable<TurnContext["summary"]>;
}

interface ToSumUp {
  readonly tenant: TenantId;
  readonly row: ConversationRecord;
  /** Which turn needs it. */
  readonly turn: number;
  /** The turns that are left out. */
  readonly left: Prompt;
  /** What the turn's prompt had before. */
  readonly whole: Prompt;
  /** What earlier turns may take of the turn that needs it. */
  readonly room: { readonly bytes: number; readonly tokens: number | undefined };
  readonly shards: number;
}

const ASK =
  "Sum up the conversation so far for yourself, for you will go on with it without having it before you. Keep names, numbers, decisions, what was asked for and what is still open. Answer with the summary alone, in the language of the conversation.";
const MOST_TOKENS = 1_024;
/** Where there is room for less, a summary says too little. */
const LEAST_BYTES = 1_024;
/** Beside its words: the question, and names of fields. */
const OTHER_BYTES = 512;
const BYTES_PER_TOKEN = 4;
/** Truncation leaves a half of the room free: the other quarter is for the turns that follow. */
const SHARE = 4;
/** The turn waits for it. */
const TIMEOUTS: Policy["timeouts"] = { queue: { after_ms: 30_000 }, total: { after_ms: 120_000 } };

/** Undefined where the conversation wants no summaries, nothing is left out, or there is no room for one. */
export function planSummary({
  tenant,
  row,
  turn,
  left,
  whole,
  room,
  shards,
}: ToSumUp): PlannedSummary | undefined {
  const { id: conversation, when_full: whenFull, subject, end_user } = row;
  const last = left.at(-1);
  if (typeof whenFull === "string" || !last) return undefined;
  const bytes = Math.floor(Math.min(room.bytes, (room.tokens ?? room.bytes) * BYTES_PER_TOKEN) / SHARE);
  if (bytes < LEAST_BYTES) return undefined;
  const { model } = whenFull;
  const most = Math.min(MOST_TOKENS, Math.floor((bytes - OTHER_BYTES) / BYTES_PER_TOKEN));
  const key = `${conversation} ${last.generation ?? `items.${last.imported}`} ${model} ${most}`;
  const generation = deriveGenerationId(tenant, key, shards, (text) => hash("sha256", text, "buffer"));
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
    // It is text that is summed up.
    prompt: [...whole.filter(({ summary }) => summary), ...left].map((segment) =>
      withoutMedia(segment, () => true),
    ),
    context: { conversation, turn, summarizes: left.length },
    needed: { generation, turns: left.length, bytes },
  };
}
