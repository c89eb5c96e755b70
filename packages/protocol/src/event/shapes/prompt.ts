import * as z from "zod";
import { type GenerationId, isGenerationId } from "../../id.ts";
import { messageSchema } from "../../request/fields/input.ts";
import { type ConversationId, isConversationId } from "../../request/conversation-id.ts";
import { FULL_POLICIES } from "../../request/when-full.ts";

const segmentSchema = z.object({
  /** The turn that it is of. Absent: instructions from the beginning of the conversation, which are never left out. */
  generation: z.custom<GenerationId>(isGenerationId).optional(),
  /** The last event of the turn that its words are as of. */
  seq: z.int().min(0).brand<"Seq">().optional(),
  /** For items that the conversation was created with: the number of its first item, from 1. */
  imported: z.int().min(1).optional(),
  /** It sums up turns that are left out. Only a later summary takes its place. */
  summary: z.literal(true).optional(),
  items: z.array(messageSchema).min(1),
});

/** A part of a prompt: one turn, or summary of turns, with what it was asked, said and answered. */
export type PromptSegment = z.infer<typeof segmentSchema>;

export const promptSchema = z.array(segmentSchema);
export type Prompt = z.infer<typeof promptSchema>;

const waitingRoomSchema = z.object({
  when_full: z.enum(FULL_POLICIES),
  /** UTF-8 bytes, as JSON. */
  bytes: z.int(),
  /** Tokens of the model's context. Absent: unknown. */
  tokens: z.number().optional(),
  /** Tokens of the prompt in seq 0, as an engine has counted them. Absent: unknown. */
  counted: z.int().min(0).optional(),
});

const summarySchema = z.object({
  /** Which sums up the turns that are left out, and the summary before. */
  generation: z.custom<GenerationId>(isGenerationId),
  /** Number of turns that it sums up. `dropped_turns` includes them until the summary exists. */
  turns: z.int().min(1),
  /** The most that it may have, of UTF-8 as JSON: what is longer is no summary. */
  bytes: z.int().min(1),
});

/** Position of a turn in its conversation. */
export const turnContextSchema = z.object({
  conversation: z.custom<ConversationId>(isConversationId),
  /** From 1 on. */
  turn: z.int().min(1),
  /** The turn that it follows. Absent: it is the first. */
  parent: z.custom<GenerationId>(isGenerationId).optional(),
  /** Number of earlier turns left out of the prompt because they did not fit. Default 0. */
  dropped_turns: z.int().min(1).optional(),
  /** Turns that were running when it was created, in order. Its prompt in seq 0 is without them, and it begins once all of them have ended. */
  waits_for: z.array(z.custom<GenerationId>(isGenerationId)).min(1).optional(),
  /** For a turn that has waited: limits of its prompt once the others have ended, the same for every process that makes it. */
  room: waitingRoomSchema.optional(),
  /** Summary that must also end before the turn begins: its output replaces the turns that are left out of the prompt. */
  summary: summarySchema.optional(),
  /** For a generation that makes a summary and is not a turn: number of turns that it sums up. `turn` is the one that needs it. */
  summarizes: z.int().min(1).optional(),
});
export type TurnContext = z.infer<typeof turnContextSchema>;
