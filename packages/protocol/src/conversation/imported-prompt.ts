import type { Message } from "../request/fields/input.ts";
import type { Prompt, PromptSegment } from "../event/shapes/prompt.ts";

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
