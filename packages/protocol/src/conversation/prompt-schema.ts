import * as z from "zod";
import { type GenerationId, isGenerationId } from "../id.ts";
import { messageSchema } from "../request/fields/input.ts";
import { type ConversationId, isConversationId } from "./conversation-id.ts";
import { FULL_POLICIES } from "./when-full.ts";

const segmentSchema = z.object({
  /** The turn that it is of. Absent: instructions from the beginning of the conversation, which are never left out. */
  generation: z.custom<GenerationId>(isGenerationId).optional(),
  /** The last event of the turn that its words are as of. */
  seq: z.int().min(0).brand<"Seq">().optional(),
  /** Of what the conversation was created with: which of these its first item is, from 1 on. */
  imported: z.int().min(1).optional(),
  items: z.array(messageSchema).min(1),
});

/** A part of a prompt: one turn with what it was asked, said and answered. */
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
});
export type TurnContext = z.infer<typeof turnContextSchema>;
