import type { Annotation } from "./annotation.ts";
import type { JsonObject, JsonValue } from "../json-object.ts";
import type { Usage } from "./event.ts";
import type { GenerationStatus } from "./transcript.ts";

/** An undecided review: what it leads to follows in the log, behind the generation's end, too. */
export interface WaitingReview {
  /** As the reviews API names it. */
  id: string;
  /** When the policy decides in a person's place. RFC 3339, UTC. */
  expires_at: string;
}

/** What a model has made beside words: `GET …/blobs/{blob}` gives its content. */
export interface OutputBlob {
  /** The event that says so. */
  seq: number;
  blob: string;
  /** `image`, `audio`, or a kind of a later version. */
  kind: string;
  media_type?: string;
  bytes?: number;
}

/** What the API answers with: one generation. What it has said is as of `cursor`, for readers may have to wait for the rest. */
export interface Generation {
  id: string;
  object: "generation";
  /** As the log has it, also where readers may not be shown that event yet. */
  status: GenerationStatus;
  model: string;
  /** Absent, like `tool_calls`, from what a key without the role `read` is answered. */
  text: string;
  /** What the model has said to refuse; absent where it has said nothing of the kind, and like `text` from what such a key is answered. */
  refusal?: string;
  /** Where something in the text comes from; absent where nothing says so, and like `text` from what such a key is answered. */
  annotations?: Annotation[];
  /** What the model has made beside words; absent where there is nothing, and like `text` from what such a key is answered. */
  blobs?: OutputBlob[];
  /**
   * Of a generation that was asked for JSON: the value of its text so far, as far as it is certain. Absent where there is none; like `text` from what a
   * key without the role `read` is answered.
   */
  partial?: JsonValue;
  usage: Usage;
  error: { code: string; message: string; retryable: boolean } | null;
  finish_reason: string | null;
  /** The calls that wait for `POST …/tool-results`; empty unless the status is `awaiting_tool`. */
  tool_calls: { call_id: string; name: string; arguments: string; provider_state?: JsonObject }[];
  /** The oldest first. */
  reviews: WaitingReview[];
  /** Whether it has ended, `cursor` is that of its last event, and no review waits. */
  settled: boolean;
  cursor: string;
  /** RFC 3339, UTC. */
  created_at: string;
  metadata: Record<string, string>;
}

/** One page of a log: `events` after the cursor that was asked for, and the cursor to ask with next. */
export interface EventPage {
  object: "list";
  events: unknown[];
  cursor: string;
  /** True once the page reaches the generation's end: nothing more will come. */
  ended: boolean;
}
