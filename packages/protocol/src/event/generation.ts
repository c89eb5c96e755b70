import type { Annotation } from "./annotation.ts";
import type { JsonObject, JsonValue } from "../json-object.ts";
import type { Usage } from "./event.ts";
import type { GenerationStatus } from "./transcript.ts";

/** An undecided review. The event of its decision follows in the log, even after the generation's end. */
export interface WaitingReview {
  /** Id in the reviews API. */
  id: string;
  /** When the policy decides in a person's place. RFC 3339, UTC. */
  expires_at: string;
}

/** An image or audio made by a model: `GET …/blobs/{blob}` returns its content. */
export interface OutputBlob {
  /** The event that says so. */
  seq: number;
  blob: string;
  /** `image`, `audio`, or a kind of a later version. */
  kind: string;
  media_type?: string;
  bytes?: number;
}

/** One generation, in the form that the API returns. Its output is as of `cursor`: readers may have to wait for the rest. */
export interface Generation {
  id: string;
  object: "generation";
  /** Status by the log, even if readers may not be shown that event yet. */
  status: GenerationStatus;
  model: string;
  /** Absent, like `tool_calls`, from what a key without the role `read` is answered. */
  text: string;
  /** The model's refusal; absent if there is none. Like `text`, absent from answers to such a key. */
  refusal?: string;
  /** Where something in the text comes from; absent where nothing says so, and like `text` from what such a key is answered. */
  annotations?: Annotation[];
  /** Images and audio that the model has made; absent if there are none. Like `text`, absent from answers to such a key. */
  blobs?: OutputBlob[];
  /**
   * For a generation that was asked for JSON: the value of its text so far, as far as it is certain. Absent if there is none; like `text`, absent from answers
   * to a key without the role `read`.
   */
  partial?: JsonValue;
  usage: Usage;
  error: { code: string; message: string; retryable: boolean } | null;
  finish_reason: string | null;
  /** The calls that wait for `POST …/tool-results`; empty unless the status is `awaiting_tool`. */
  tool_calls: { call_id: string; name: string; arguments: string; provider_state?: JsonObject }[];
  /** The oldest first. */
  reviews: WaitingReview[];
  /** True if it has ended, `cursor` is that of its last event, and no review is open. */
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
