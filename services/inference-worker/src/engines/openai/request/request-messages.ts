import type { JsonValue, OutputItem, ToolCallItem } from "@reprise/protocol";
import type { EngineRequest, Progress } from "../../engine.ts";

/** A message of a chat completion's request. */
export type RequestMessage =
  | { role: "system" | "developer" | "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: object[] }
  | { role: "tool"; tool_call_id: string; content: string };

/** What the model said and asked for in one run, and what the tools answered, by the id of the call. */
interface Turn {
  text: string;
  readonly calls: ToolCallItem[];
  readonly outputs: Map<string, JsonValue>;
}

/** The conversation that the model is to go on with: the input, the turns that tools have answered, and the prefix. */
export function toRequestMessages(request: EngineRequest, { turns, prefix }: Progress): RequestMessage[] {
  return [
    ...toInput(request),
    ...toTurns(turns).flatMap(fromTurn),
    ...(prefix.text === "" ? [] : [{ role: "assistant", content: prefix.text } as const]),
  ];
}

export function toInput({ input }: EngineRequest): RequestMessage[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : input;
}

/** A tool's answer as the content of a message, which is a text. */
function toToolContent(output: JsonValue): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/**
 * The answer to a model's first call may stand in the log before its second call. A call belongs to the turn before it while that
 * has one without an answer.
 */
function toTurns(items: readonly OutputItem[]): Turn[] {
  const turns: Turn[] = [];
  for (const item of items) {
    let turn = turns.at(-1);
    if (turn === undefined || isAnswered(turn)) {
      turn = { text: "", calls: [], outputs: new Map() };
      turns.push(turn);
    }
    if (item.type === "text") turn.text += item.text;
    else if (item.type === "tool_call") turn.calls.push(item);
    else turn.outputs.set(item.call_id, item.output);
  }
  return turns;
}

function isAnswered({ calls, outputs }: Turn): boolean {
  return calls.length > 0 && calls.every(({ call_id }) => outputs.has(call_id));
}

/** The answers in the order of the calls, whichever tool was first: some models' templates count on it. */
function fromTurn({ text, calls, outputs }: Turn): RequestMessage[] {
  const toolCalls = calls.map(({ call_id: id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }));
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length > 0 && { tool_calls: toolCalls }),
    },
    ...calls.flatMap(({ call_id: id }): RequestMessage[] => {
      const output = outputs.get(id);
      return output === undefined ? [] : [{ role: "tool", tool_call_id: id, content: toToolContent(output) }];
    }),
  ];
}
