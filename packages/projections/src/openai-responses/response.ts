import type { Usage } from "@reprise/protocol";
import type { ProjectedRun } from "../projection.ts";
import { toProtocolId } from "../protocol-id.ts";
import type { Item } from "./output/items.ts";

export type ResponseStatus = "queued" | "in_progress" | "completed" | "failed" | "incomplete" | "cancelled";

/** The fields of a response that change while it is generated. */
export interface ResponseNow {
  readonly status: ResponseStatus;
  readonly output: readonly Item[];
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** Reason of a response that ended before its model had. */
  readonly incomplete?: string | undefined;
  readonly usage?: Usage | undefined;
}

/** The request fields that a response repeats; the input is not repeated. */
export interface CreatedWith {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly previousResponse?: string | null | undefined;
  readonly conversation?: string | undefined;
}

/** A response as OpenAI's API has it. Settings that were not said are as that API says them. */
export function toResponse(run: ProjectedRun, now: ResponseNow, created: CreatedWith = {}): object {
  const { metadata = {}, previousResponse = null, conversation } = created;
  return {
    id: toProtocolId("resp_", run.generation),
    object: "response",
    created_at: Math.floor(run.createdAtMs / 1_000),
    status: now.status,
    access_programs: null,
    error: now.error ?? null,
    incomplete_details: now.incomplete === undefined ? null : { reason: now.incomplete },
    instructions: null,
    max_output_tokens: null,
    model: run.model,
    output: now.output,
    parallel_tool_calls: true,
    previous_response_id: previousResponse,
    ...(conversation !== undefined && { conversation: { id: conversation } }),
    reasoning: null,
    store: true,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: now.usage ? toUsage(now.usage) : null,
    metadata,
  };
}

/** An unknown count is 0: the API has no word for it. */
function toUsage(usage: Usage): object {
  const { input_tokens: input, output_tokens: output } = usage;
  return {
    input_tokens: input ?? 0,
    input_tokens_details: { cached_tokens: usage.cached_input_tokens ?? 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens ?? 0 },
    total_tokens: (input ?? 0) + output,
  };
}
