import { RepriseError } from "../errors/reprise-error.ts";
import type { Prompt, PromptSegment } from "./prompt-schema.ts";
import type { FullPolicy } from "./when-full.ts";

/** What a prompt may take. */
export interface PromptRoom {
  /** Of UTF-8, as JSON: what seq 0 has for it. */
  readonly bytes: number;
  /** Of the model's context, without what is kept for its answer and what is new; undefined: not known. */
  readonly tokens: number | undefined;
  /** How many tokens the whole prompt has by an engine's own count; undefined: not known. */
  readonly counted: number | undefined;
}

const BYTES_PER_TOKEN = 4;

/**
 * The part of a prompt that fits. Where it does not, and the policy says so, the oldest turns are left out until half of the room is free:
 * the first bytes of the next prompts are then the same again for many turns, and the engine's cache holds.
 * @returns the same prompt where it fits, and its bytes
 * @throws RepriseError `conversation_full`
 */
export function fitPrompt(
  prompt: Prompt,
  room: PromptRoom,
  policy: FullPolicy,
): { readonly prompt: Prompt; readonly dropped: number; readonly bytes: number } {
  if (prompt.length === 0) return { prompt, dropped: 0, bytes: 0 };
  const bytes = prompt.map((segment) => bytesOf(segment));
  const all = sum(bytes);
  // A count of the engine's is worth more than a guess from bytes.
  const tokensPerByte = room.counted === undefined || all === 0 ? 1 / BYTES_PER_TOKEN : room.counted / all;
  const used = (size: number) => ({ bytes: size, tokens: size * tokensPerByte });
  if (isWithin(used(all), room, 1)) return { prompt, dropped: 0, bytes: all };
  if (policy === "error") throw full(used(all), room);
  const kept = new Set(prompt.keys());
  let left = all;
  for (const [i, { generation, imported }] of prompt.entries()) {
    if (isWithin(used(left), room, 0.5)) break;
    if (generation === undefined && imported === undefined) continue;
    kept.delete(i);
    left -= bytes[i] ?? 0;
  }
  if (!isWithin(used(left), room, 1)) throw full(used(left), room);
  const dropped = prompt.length - kept.size;
  return { prompt: prompt.filter((_, i) => kept.has(i)), dropped, bytes: left };
}

function isWithin(
  { bytes, tokens }: { bytes: number; tokens: number },
  room: PromptRoom,
  share: number,
): boolean {
  return bytes <= room.bytes * share && (room.tokens === undefined || tokens <= room.tokens * share);
}

function bytesOf(segment: PromptSegment): number {
  return new TextEncoder().encode(JSON.stringify(segment)).length;
}

function full({ bytes, tokens }: { bytes: number; tokens: number }, room: PromptRoom): RepriseError {
  const has = `about ${Math.ceil(tokens)} tokens, ${bytes} bytes`;
  const may = room.tokens === undefined ? "" : `${Math.max(0, Math.floor(room.tokens))} tokens and `;
  const message = `The conversation so far takes ${has}; there is room for ${may}${Math.max(0, room.bytes)} bytes beside the new turn.`;
  return new RepriseError("conversation_full", message, { param: "conversation" });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
