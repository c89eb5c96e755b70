import { fromSealed } from "../sealed.ts";
import { toContent } from "./content-parts.ts";
import type { InputItem } from "./input-items.ts";

/** Items as native messages, which the parser of the native request has not seen yet. */
export interface Asked {
  readonly messages: readonly unknown[];
  /** For each message: the item that it begins with. */
  readonly origins: readonly number[];
}

interface Turn {
  role: "assistant";
  reasoning?: object[];
  content?: unknown;
  tool_calls?: object[];
}

/**
 * OpenAI's items are finer than turns: what a model has thought, its text and its calls are items of their own. Neighbours become one turn: thoughts,
 * then a text, then calls.
 */
export function toMessages(items: readonly InputItem[]): Asked {
  const messages: unknown[] = [];
  const origins: number[] = [];
  let turn: Turn | undefined;
  const push = (message: object, index: number) => {
    messages.push(message);
    origins.push(index);
  };
  /** Returns the current turn if it has room for the next item. */
  const turnFor = (index: number, hasRoom: (open: Turn) => boolean): Turn => {
    if (!turn || !hasRoom(turn)) {
      turn = { role: "assistant" };
      push(turn, index);
    }
    return turn;
  };
  for (const [i, item] of items.entries()) {
    if (item.type === "reasoning") {
      const thought = toThought(item);
      if (!thought) continue;
      const open = turnFor(i, ({ content, tool_calls: calls }) => content === undefined && !calls);
      (open.reasoning ??= []).push(thought);
    } else if (item.type === "function_call") {
      const { call_id, name, arguments: text } = item;
      (turnFor(i, () => true).tool_calls ??= []).push({ call_id, name, arguments: text });
    } else if (item.type === "message" && item.role === "assistant") {
      turnFor(i, ({ content, tool_calls: calls }) => content === undefined && !calls).content = toContent(
        item.content,
      );
    } else {
      turn = undefined;
      if (item.type === "message") push({ role: item.role, content: toContent(item.content) }, i);
      // References were resolved before.
      else if (item.type === "function_call_output") push(toAnswer(item), i);
    }
  }
  return withoutBareThoughts(messages, origins);
}

function toThought(item: Extract<InputItem, { type: "reasoning" }>): object | undefined {
  const summary = (item.summary ?? []).map(({ text }) => text);
  if (item.encrypted_content) {
    return { ...fromSealed(item.encrypted_content), ...(summary.length > 0 && { summary }) };
  }
  const texts = item.content?.length ? item.content.map(({ text }) => text) : summary;
  return texts.length > 0 ? { text: texts.join("\n\n") } : undefined;
}

function toAnswer({ call_id, output }: Extract<InputItem, { type: "function_call_output" }>): object {
  const content = toContent(output);
  return { role: "tool", call_id, ...(typeof content === "string" ? { output: content } : { content }) };
}

/** Reasoning without output after it is from a turn that was cut off: an engine has no place for it. */
function withoutBareThoughts(messages: readonly unknown[], origins: readonly number[]): Asked {
  const isSaid = (message: unknown) => {
    const { role, content, tool_calls: calls } = message as Turn;
    return role !== "assistant" || content !== undefined || calls !== undefined;
  };
  return {
    messages: messages.filter(isSaid),
    origins: origins.filter((_, i) => isSaid(messages[i])),
  };
}
