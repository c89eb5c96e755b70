import type { Message } from "../request/fields/input.ts";
import type { GenerationRequest } from "../request/request.ts";
import type { RequestedEvent } from "./event.ts";
import type { Prompt } from "./shapes/prompt.ts";

/**
 * Builds the request that an engine is asked. `request` stays what the client has sent, because a repeated create is compared with it; what
 * the platform adds is in the other fields of seq 0.
 */
export function effectiveRequest({
  request,
  prompt,
}: Pick<RequestedEvent, "request" | "prompt">): GenerationRequest {
  return prompt ? { ...request, input: joinPrompt(prompt, request.input) } : request;
}

export function toMessages(input: string | readonly Message[]): readonly Message[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : input;
}

/**
 * Joins the messages of a turn's request, in order. Engines refuse a call without an answer, and an answer without a call: a call that no
 * later message answers is left out, and so is an answer whose call is missing.
 */
export function joinPrompt(prompt: Prompt, input: string | readonly Message[]): Message[] {
  const messages = [...prompt.flatMap(({ items }) => items), ...toMessages(input)];
  const { answered, orphans } = pairCalls(messages);
  return messages.flatMap((message, i): Message[] => {
    if (orphans.has(i)) return [];
    if (message.role !== "assistant" || !message.tool_calls) return [message];
    const { tool_calls: calls, reasoning, ...said } = message;
    const kept = calls.filter((_, j) => answered.has(`${i}.${j}`));
    if (kept.length === calls.length) return [message];
    if (kept.length > 0)
      return [{ ...said, ...(reasoning !== undefined && { reasoning }), tool_calls: kept }];
    // Reasoning before calls is left out with them.
    return said.content === undefined ? [] : [said];
  });
}

/** @returns the place in `input` of the first answer whose call is neither in it nor in the prompt; undefined without one */
export function findOrphan(prompt: Prompt, input: string | readonly Message[]): number | undefined {
  const before = prompt.flatMap(({ items }) => items);
  const { orphans } = pairCalls([...before, ...toMessages(input)]);
  return [...orphans].map((i) => i - before.length).find((i) => i >= 0);
}

/** Pairs an answer with the last open call of its id: ids are unique only within one generation. */
function pairCalls(messages: readonly Message[]): { answered: Set<string>; orphans: Set<number> } {
  const open = new Map<string, string>();
  const answered = new Set<string>();
  const orphans = new Set<number>();
  for (const [i, message] of messages.entries()) {
    if (message.role === "assistant")
      for (const [j, { call_id: id }] of (message.tool_calls ?? []).entries()) open.set(id, `${i}.${j}`);
    if (message.role !== "tool") continue;
    const call = open.get(message.call_id);
    if (call === undefined) orphans.add(i);
    else answered.add(call);
    open.delete(message.call_id);
  }
  return { answered, orphans };
}
