import type { Usage } from "./event.ts";
import type { GenerationStatus } from "./transcript.ts";

/** What the API answers with: one generation, as of `cursor`. */
export interface Generation {
  id: string;
  object: "generation";
  status: GenerationStatus;
  model: string;
  /** Absent, like `tool_calls`, from what a key without the role `read` is answered. */
  text: string;
  usage: Usage;
  error: { code: string; message: string; retryable: boolean } | null;
  finish_reason: string | null;
  /** The calls that wait for `POST …/tool-results`; empty unless the status is `awaiting_tool`. */
  tool_calls: { call_id: string; name: string; arguments: string }[];
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
