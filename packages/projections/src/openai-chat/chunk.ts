import type { JsonObject, KnownEvent } from "@reprise/protocol";
import type {
  ChatAnnotation,
  ChatFinish,
  ChatFinishReason,
  ChatUsage,
  ChatLogprobs,
} from "./answer-parts.ts";

export interface ChatDelta {
  role?: "assistant";
  content?: string;
  refusal?: string;
  /** The model's reasoning, under the two names that clients look for. */
  reasoning?: string;
  reasoning_content?: string;
  tool_calls?: ({ index: number } & ChatCall)[];
  annotations?: ChatAnnotation[];
  /** The model's media output: `GET /v1/generations/{id}/blobs/{blob}` returns its content. */
  blobs?: ChatBlob[];
}

export interface ChatCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
  /** State that the model server asks to get back with the call, where Gemini puts its own. */
  extra_content?: JsonObject;
}

export function toChatCall(event: Extract<KnownEvent, { type: "tool.call" }>): ChatCall {
  const { call_id: id, name, arguments: args, provider_state: state } = event;
  return {
    id,
    type: "function",
    function: { name, arguments: args },
    ...(state && { extra_content: state }),
  };
}

/** Without `id` where moderation has withdrawn it. */
export interface ChatBlob {
  kind: string;
  id?: string;
  media_type?: string;
  bytes?: number;
}

export interface ChatChoice extends Partial<Pick<ChatFinish, "native_finish_reason">> {
  index: number;
  delta: ChatDelta;
  logprobs?: ChatLogprobs;
  finish_reason: ChatFinishReason | null;
}

/** Fields that all chunks of a stream share. */
export interface ChatHead {
  readonly id: string;
  readonly object: "chat.completion.chunk";
  readonly created: number;
  readonly model: string;
}

/** One frame of a stream. */
export interface ChatChunk extends ChatHead {
  choices: ChatChoice[];
  /** Null in each chunk but the last one of a stream that includes the usage. */
  usage?: ChatUsage | null;
}
