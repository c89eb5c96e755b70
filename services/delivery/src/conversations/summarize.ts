import { hash } from "node:crypto";
import type { GenerationLog } from "@reprise/log";
import {
  type ConversationRecord,
  deriveGenerationId,
  fitPrompt,
  type FullPolicy,
  type GenerationRef,
  type GenerationRequest,
  isPinned,
  type Policy,
  type Prompt,
  type PromptRoom,
  segmentId,
  type TenantId,
  type TurnContext,
  turnsBeyondHalf,
  withoutMedia,
} from "@reprise/protocol";

/*
 * A conversation that wants summaries has its oldest turns summed up once they take more than half of their room, by an ordinary generation of the same
 * tenant, subject and end user, under their limits, budgets and moderation. It is created after a turn has begun; later turns that have no room for the old
 * turns are given the summary in their place. A turn for which there is none yet is without them.
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
  readonly named: NonNullable<ConversationRecord["summary"]>;
}

interface ToSumUp {
  /** The turn whose prompt has the turns. */
  readonly ref: GenerationRef;
  readonly row: ConversationRecord;
  readonly turn: number;
  /** The prompt before anything is left out of it. */
  readonly whole: Prompt;
  readonly room: PromptRoom;
  /** Turns that are left out already. */
  readonly left: Prompt;
  readonly shards: number;
}

const ASK =
  "Sum up the conversation so far for yourself, for you will go on with it without having it before you. Keep names, numbers, decisions, what was asked for and what is still open. Answer with the summary alone, in the language of the conversation.";
const MOST_TOKENS = 1_024;
/** A summary with less room says too little. */
const LEAST_BYTES = 1_024;
/** The question, and names of fields. */
const OTHER_BYTES = 512;
const BYTES_PER_TOKEN = 4;
/** Truncation leaves half of the room free: a quarter is the summary's, the other is for the turns that follow. */
const SHARE = 4;
/** A turn may wait for it. */
const TIMEOUTS: Policy["timeouts"] = { queue: { after_ms: 30_000 }, total: { after_ms: 120_000 } };

/** Plans a summary; undefined if the conversation wants none, its turns take less than half of their room, or the row names one for them. */
export function planSummary({
  ref,
  row,
  turn,
  whole,
  room,
  left,
  shards,
}: ToSumUp): PlannedSummary | undefined {
  const { id: conversation, when_full: whenFull, subject, end_user } = row;
  if (typeof whenFull === "string") return undefined;
  const isNamed = whole.some((segment) => segmentId(segment) === row.summary?.through);
  const old = isNamed ? [] : left.length > 0 ? left : turnsBeyondHalf(whole, room);
  const last = old.at(-1);
  if (!last) return undefined;
  const bytes = Math.floor(Math.min(room.bytes, (room.tokens ?? room.bytes) * BYTES_PER_TOKEN) / SHARE);
  if (bytes < LEAST_BYTES) return undefined;
  const { model } = whenFull;
  const most = Math.min(MOST_TOKENS, Math.floor((bytes - OTHER_BYTES) / BYTES_PER_TOKEN));
  const through = segmentId(last);
  const key = `${conversation} ${through} ${model} ${most}`;
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
    named: { generation, turn: ref.generation, through, turns: old.length, bytes },
  };
}

interface ToFit {
  readonly whole: Prompt;
  readonly room: PromptRoom;
  readonly policy: FullPolicy;
}

/**
 * Fits a prompt with the conversation's summary in place of the turns that it summarises. Returns undefined if the prompt fits without it, or if no summary
 * covers turns of this prompt.
 * @throws RepriseError `conversation_full`, `broker_unavailable`
 */
export async function useSummary(
  log: Pick<GenerationLog, "reader">,
  tenant: TenantId,
  { summary: named }: ConversationRecord,
  { whole, room, policy }: ToFit,
): Promise<(ReturnType<typeof fitPrompt> & { readonly summary: TurnContext["summary"] }) | undefined> {
  if (!named) return undefined;
  const { generation, turn, through, turns, bytes } = named;
  const has = (id: string) => whole.some((segment) => segmentId(segment) === id);
  // After a fork from an older turn, the summary may be of turns that this prompt must not have.
  if (!has(turn) || has(generation)) return undefined;
  const last = whole.findIndex((segment) => segmentId(segment) === through);
  const covered = whole.slice(0, last + 1).filter((segment) => !isPinned(segment));
  if (covered.length > 0 && fitPrompt(whole, room, policy).dropped === 0) return undefined;
  if (!(await log.reader.readFirst({ tenant, generation }))) return undefined;
  const rest = whole.filter((segment) => !covered.includes(segment));
  const left = {
    ...room,
    bytes: room.bytes - bytes,
    tokens: room.tokens === undefined ? undefined : room.tokens - bytes / BYTES_PER_TOKEN,
    // An engine has counted all of them together.
    counted: undefined,
  };
  const fitted = fitPrompt(rest, left, policy);
  return { ...fitted, dropped: fitted.dropped + covered.length, summary: { generation, turns, bytes } };
}
