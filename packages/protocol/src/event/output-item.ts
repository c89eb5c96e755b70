import type { JsonObject, JsonValue } from "../json-object.ts";
import type { ToolContent } from "../request/fields/content-part.ts";

export interface TextItem {
  readonly type: "text";
  readonly text: string;
  /** Number of the engine's tokens that `text` holds. */
  readonly tokens: number;
}

export interface ToolCallItem {
  readonly type: "tool_call";
  readonly call_id: string;
  readonly name: string;
  /** JSON, as the model wrote it: not necessarily valid. */
  readonly arguments: string;
  /** State that only the model server can read, and asks to get back with the call. */
  readonly provider_state?: JsonObject;
}

export interface ToolResultItem {
  readonly type: "tool_result";
  readonly call_id: string;
  /** One of the two. */
  readonly output?: JsonValue | undefined;
  readonly content?: ToolContent | undefined;
}

/** One part of what a generation has produced: text, a call of a tool, or a tool's answer. */
export type OutputItem = TextItem | ToolCallItem | ToolResultItem;

/** Thoughts of a model, as a text or in a form that only its engine can read. */
export type ThoughtItem =
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "sealed"; readonly encrypted: string; readonly id?: string | undefined };

/** One part of what an engine is given back of a generation: with what the model has thought before its calls. */
export type TurnItem = OutputItem | ThoughtItem;
