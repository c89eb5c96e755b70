import type { GenerationId } from "@reprise/protocol";
import { parseProtocolId, toProtocolId } from "../../protocol-id.ts";

/* The items of a response's `output`, as OpenAI's API has them. */

export type ItemStatus = "in_progress" | "completed" | "incomplete";

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}
export interface Logprob extends TokenLogprob {
  readonly top_logprobs: readonly TokenLogprob[];
}

export type Annotation =
  | {
      readonly type: "url_citation";
      readonly url: string;
      readonly title: string;
      readonly start_index: number;
      readonly end_index: number;
    }
  | {
      readonly type: "file_citation";
      readonly file_id: string;
      readonly filename: string;
      readonly index: number;
    };

export interface TextPart {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly Annotation[];
  readonly logprobs: readonly Logprob[];
}
export interface RefusalPart {
  readonly type: "refusal";
  readonly refusal: string;
}
export type Part = TextPart | RefusalPart;

export interface SummaryPart {
  readonly type: "summary_text";
  readonly text: string;
}

export interface MessageItem {
  readonly id: string;
  readonly type: "message";
  readonly status: ItemStatus;
  readonly role: "assistant";
  readonly content: readonly Part[];
}
export interface ReasoningItem {
  readonly id: string;
  readonly type: "reasoning";
  readonly status: ItemStatus;
  readonly summary: readonly SummaryPart[];
  readonly encrypted_content?: string;
}
export interface CallItem {
  readonly id: string;
  readonly type: "function_call";
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}
export type Item = MessageItem | ReasoningItem | CallItem;

const PREFIXES = { message: "msg_", reasoning: "rs_", function_call: "fc_" } as const;
const ITEM_ID = /^(?:msg|rs|fc)_([0-9a-v]{26}\d{1,3})_\d{1,9}$/;

/** It names its response and its place there, so that an item that a client refers to is found without a table. */
export function toItemId(type: Item["type"], generation: GenerationId, index: number): string {
  return `${PREFIXES[type]}${toProtocolId("resp_", generation).slice("resp_".length)}_${index}`;
}

/** The response that an item is of; undefined for an id that the platform did not make. */
export function generationOfItem(id: string): GenerationId | undefined {
  const [, response] = ITEM_ID.exec(id) ?? [];
  if (response === undefined) return undefined;
  try {
    return parseProtocolId("resp_", `resp_${response}`);
  } catch {
    return undefined;
  }
}

/** One event of the protocol, without its number. */
export interface Step {
  readonly type: string;
  readonly [field: string]: unknown;
}
