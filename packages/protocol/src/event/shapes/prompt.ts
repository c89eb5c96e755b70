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
  /** Of what the conversation was created with: which of these its first item is, from 1 on. */
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
  /** Of UTF-8, as JSON. */
  bytes: z.int(),
  /** Of the model's context. Absent: not known. */
  tokens: z.number().optional(),
  /** How many tokens the prompt in seq 0 has by an engine's own count. Absent: not known. */
  counted: z.int().min(0).optional(),
});

const summarySchema = z.object({
  /** Which sums up the turns that are left out, and the summary before. */
  generation: z.custom<GenerationId>(isGenerationId),
  /** How many turns that are. `dropped_turns` has them, until the summary is there. */
  turns: z.int().min(1),
  /** The most that it may have, of UTF-8 as JSON: what is longer is no summary. */
  bytes: z.int().min(1),
});

/** Where a turn stands in its conversation. */
export const turnContextSchema = z.object({
  conversation: z.custom<ConversationId>(isConversationId),
  /** From 1 on. */
  turn: z.int().min(1),
  /** The turn that it goes on behind. Absent: it is the first. */
  parent: z.custom<GenerationId>(isGenerationId).optional(),
  /** How many earlier turns the prompt is without, because they did not fit. Default 0. */
  dropped_turns: z.int().min(1).optional(),
  /** Turns that went on when it was created, in order: its prompt in seq 0 is without them, and it begins once all of them have ended. */
  waits_for: z.array(z.custom<GenerationId>(isGenerationId)).min(1).optional(),
  /** Of a turn that has waited: what its prompt may take once they have ended, the same for every process that makes it. */
  room: waitingRoomSchema.optional(),
  /** What has to end, too, before it begins: what that says stands in its prompt in the place of the turns that are left out. */
  summary: summarySchema.optional(),
  /** Of a generation that makes a summary and is no turn: how many turns it sums up. `turn` is the one that needs it. */
  summarizes: z.int().min(1).optional(),
});
export type TurnContext = z.infer<typeof turnContextSchema>;
