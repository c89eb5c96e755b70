import type { AgUiEvent } from "./events.ts";

/*
 * The output of a run so far, as the messages that a client has made of its events. It is kept as a chain, newest first: an event adds one link, a rewind
 * drops links, and no state that was handed out before is changed.
 */

type Piece = Extract<
  AgUiEvent,
  {
    type:
      | "TEXT_MESSAGE_CONTENT"
      | "REASONING_MESSAGE_START"
      | "REASONING_MESSAGE_CONTENT"
      | "REASONING_ENCRYPTED_VALUE"
      | "TOOL_CALL_START"
      | "TOOL_CALL_ARGS"
      | "TOOL_CALL_RESULT";
  }
>;

interface Link {
  readonly seq: number;
  readonly piece: Piece;
  readonly before: Said;
}
export type Said = Link | undefined;

interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; arguments: string };
}

/** Message in the form of `MESSAGES_SNAPSHOT`. */
export type SaidMessage =
  | { readonly id: string; readonly role: "assistant"; content?: string; toolCalls?: ToolCall[] }
  | { readonly id: string; readonly role: "reasoning"; content: string; encryptedValue?: string }
  | { readonly id: string; readonly role: "tool"; readonly content: string; readonly toolCallId: string };

export function say(said: Said, seq: number, events: readonly AgUiEvent[]): Said {
  let last = said;
  for (const event of events) if (isPiece(event)) last = { seq, piece: event, before: last };
  return last;
}

export function unsay(said: Said, toSeq: number): Said {
  let last = said;
  while (last && last.seq > toSeq) last = last.before;
  return last;
}

/** Messages in the order that clients have them in: the order in which they were begun, but a tool's answer follows the message with its call. */
export function toMessages(said: Said): readonly SaidMessage[] {
  const messages: SaidMessage[] = [];
  for (const piece of piecesOf(said)) add(messages, piece);
  return messages;
}

function add(messages: SaidMessage[], piece: Piece): void {
  switch (piece.type) {
    case "TEXT_MESSAGE_CONTENT": {
      const message = assistant(messages, piece.messageId);
      message.content = (message.content ?? "") + piece.delta;
      return;
    }
    case "REASONING_MESSAGE_START":
      messages.push({ id: piece.messageId, role: "reasoning", content: "" });
      return;
    case "REASONING_MESSAGE_CONTENT": {
      const message = messages.find(({ id }) => id === piece.messageId);
      if (message?.role === "reasoning") message.content += piece.delta;
      return;
    }
    case "REASONING_ENCRYPTED_VALUE": {
      const message = messages.find(({ id }) => id === piece.entityId);
      if (message?.role === "reasoning") message.encryptedValue = piece.encryptedValue;
      return;
    }
    case "TOOL_CALL_START": {
      const message = assistant(messages, piece.parentMessageId);
      const { toolCallId: id, toolCallName: name } = piece;
      (message.toolCalls ??= []).push({ id, type: "function", function: { name, arguments: "" } });
      return;
    }
    case "TOOL_CALL_ARGS":
      for (const message of messages) {
        if (message.role !== "assistant") continue;
        const call = message.toolCalls?.find(({ id }) => id === piece.toolCallId);
        if (call) call.function.arguments += piece.delta;
      }
      return;
    case "TOOL_CALL_RESULT": {
      const { messageId: id, content, toolCallId } = piece;
      let at =
        messages.findIndex((message) => message.role === "assistant" && hasCall(message, toolCallId)) + 1;
      if (at === 0) at = messages.length;
      while (messages[at]?.role === "tool") at++;
      messages.splice(at, 0, { id, role: "tool", content, toolCallId });
      return;
    }
  }
}

type AssistantMessage = SaidMessage & { role: "assistant" };

function hasCall({ toolCalls }: AssistantMessage, call: string): boolean {
  return toolCalls?.some(({ id }) => id === call) ?? false;
}

function assistant(messages: SaidMessage[], id: string): AssistantMessage {
  const found = messages.find((message) => message.id === id);
  if (found?.role === "assistant") return found;
  const message: AssistantMessage = { id, role: "assistant" };
  messages.push(message);
  return message;
}

function piecesOf(said: Said): Piece[] {
  const pieces: Piece[] = [];
  for (let link = said; link; link = link.before) pieces.push(link.piece);
  return pieces.toReversed();
}

function isPiece(event: AgUiEvent): event is Piece {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_START":
    case "REASONING_MESSAGE_CONTENT":
    case "REASONING_ENCRYPTED_VALUE":
    case "TOOL_CALL_START":
    case "TOOL_CALL_ARGS":
    case "TOOL_CALL_RESULT":
      return true;
    default:
      return false;
  }
}
