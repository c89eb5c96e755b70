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
 * What a generation has produced and was answered, as the messages of a later request. Engines are given them in this form within the
 * generation too: what they had then and what they have later is the same, byte for byte. What the model has thought before it called tools is
 * among it: servers refuse a call of a model that thinks without it, in every later request (DeepSeek, Kimi). Thoughts before an answer are not.
 */
export function toTurnMessages(items: readonly TurnItem[]): Message[] {
  return toTurns(items).flatMap(fromTurn);
}

/**
 * The answer to a model's first call may stand in the log before its second call. A call belongs to the turn before it while that
 * has one without an answer.
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
