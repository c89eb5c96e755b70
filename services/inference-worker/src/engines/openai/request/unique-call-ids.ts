import type { Message } from "@reprise/protocol";

/**
 * Makes call ids unique within a conversation. A repeated id gets a new one, and its answers follow. A message's ids depend only on earlier
 * messages, so prompt caches stay valid.
 */
export function withUniqueCallIds(messages: readonly Message[]): readonly Message[] {
  const used = new Set<string>();
  /** New id of the last call with an id, if it has one. */
  const renamed = new Map<string, string>();
  let names = 0;

  function nameOf(id: string): string {
    if (!used.has(id)) {
      renamed.delete(id);
      return id;
    }
    let name: string;
    do name = toName(++names);
    while (used.has(name));
    renamed.set(id, name);
    return name;
  }

  const unique = messages.map((message): Message => {
    if (message.role === "tool") {
      const name = renamed.get(message.call_id);
      return name === undefined ? message : { ...message, call_id: name };
    }
    if (message.role !== "assistant" || !message.tool_calls) return message;
    const calls = message.tool_calls.map((call) => {
      const name = nameOf(call.call_id);
      used.add(name);
      return name === call.call_id ? call : { ...call, call_id: name };
    });
    return calls.every((call, i) => call === message.tool_calls?.[i])
      ? message
      : { ...message, tool_calls: calls };
  });
  return unique;
}

/** Nine letters and digits: Mistral takes nothing else. */
function toName(number: number): string {
  return `r${number.toString(36).padStart(8, "0")}`;
}
