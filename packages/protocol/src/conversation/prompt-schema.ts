import * as z from "zod";
import { type GenerationId, isGenerationId } from "../id.ts";
import { messageSchema } from "../request/fields/input.ts";
import { type ConversationId, isConversationId } from "./conversation-id.ts";

const segmentSchema = z.object({
  /** The turn that it is of. Absent: instructions from the beginning of the conversation, which are never left out. */
  generation: z.custom<GenerationId>(isGenerationId).optional(),
  /** The last event of the turn that its words are as of. */
  seq: z.int().min(0).brand<"Seq">().optional(),
  /** Of a turn that moderation judges: a later event may withdraw some of its words. */
  moderated: z.literal(true).optional(),
  items: z.array(messageSchema).min(1),
});

/** A part of a prompt: one turn with what it was asked, said and answered. */
export type PromptSegment = z.infer<typeof segmentSchema>;

export const promptSchema = z.array(segmentSchema);
export type Prompt = z.infer<typeof promptSchema>;

/** Where a turn stands in its conversation. */
export const turnContextSchema = z.object({
  conversation: z.custom<ConversationId>(isConversationId),
  /** From 1 on. */
  turn: z.int().min(1),
  /** The turn that it goes on behind. Absent: it is the first. */
  parent: z.custom<GenerationId>(isGenerationId).optional(),
  /** How many earlier turns the prompt is without, because they did not fit. Default 0. */
  dropped_turns: z.int().min(1).optional(),
});
export type TurnContext = z.infer<typeof turnContextSchema>;
