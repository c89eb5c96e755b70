import type { ThoughtItem, ToolCallItem, ToolResultItem, TurnItem } from "../event/output-item.ts";
import type { AssistantTurn, Message, ReasoningItem } from "../request/fields/input.ts";

/** Thoughts, words and calls of one run of the model, and the tools' answers by the id of the call. */
interface Turn {
  text: string;
  readonly thoughts: ThoughtItem[];
  readonly calls: ToolCallItem[];
  readonly answers: Map<string, ToolResultItem>;
}

/**
 * Converts a generation's output, and the answers to its tool calls, to messages of a later request. Engines are given this form within the generation too, so
 * the messages are the same then and later, byte for byte. They include the reasoning before tool calls: servers refuse a call of a reasoning model without
 * it, in every later request (DeepSeek, Kimi). Reasoning before an answer is left out.
 */
export function toTurnMessages(items: readonly TurnItem[]): Message[] {
  return toTurns(items).flatMap(fromTurn);
}

/**
 * Groups items into turns. The answer to a model's first call may come before its second call in the log. A call belongs to the previous turn while that has
 * an unanswered call.
 */
function toTurns(items: readonly TurnItem[]): Turn[] {
  const turns: Turn[] = [];
  for (const item of items) {
    let turn = turns.at(-1);
    if (turn === undefined || isAnswered(turn)) {
      turn = { text: "", thoughts: [], calls: [], answers: new Map() };
      turns.push(turn);
    }
    if (item.type === "text") turn.text += item.text;
    else if (item.type === "tool_call") turn.calls.push(item);
    else if (item.type === "tool_result") turn.answers.set(item.call_id, item);
    else turn.thoughts.push(item);
  }
  return turns;
}

function isAnswered({ calls, answers }: Turn): boolean {
  return calls.length > 0 && calls.every(({ call_id }) => answers.has(call_id));
}

/** The answers in the order of the calls, whichever tool was first: some models' templates count on it. */
function fromTurn({ text, thoughts, calls, answers }: Turn): Message[] {
  if (text === "" && calls.length === 0) return [];
  const reasoning = calls.length > 0 ? toReasoning(thoughts) : undefined;
  return [
    {
      role: "assistant",
      ...(text !== "" && { content: text }),
      ...(reasoning !== undefined && { reasoning }),
      ...(calls.length > 0 && { tool_calls: calls.map(({ type: _type, ...call }) => call) }),
    },
    ...calls.flatMap(({ call_id }): Message[] => {
      const { output, content } = answers.get(call_id) ?? {};
      if (content) return [{ role: "tool", call_id, content }];
      return output === undefined ? [] : [{ role: "tool", call_id, output }];
    }),
  ];
}

/** Undefined where nothing was thought. */
function toReasoning(thoughts: readonly ThoughtItem[]): AssistantTurn["reasoning"] {
  const text = thoughts.map((thought) => (thought.type === "reasoning" ? thought.text : "")).join("");
  const sealed = thoughts.flatMap((thought): ReasoningItem[] => {
    if (thought.type !== "sealed") return [];
    const { encrypted, id } = thought;
    return [{ encrypted, ...(id && { id }) }];
  });
  if (sealed.length === 0) return text === "" ? undefined : text;
  return [...(text === "" ? [] : [{ text }]), ...sealed];
}
