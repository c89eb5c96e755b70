import type { FinishReason } from "@reprise/protocol";

/** The end of an upstream's answer; `failed` means that the text is incomplete. */
export type UpstreamEnd = FinishReason | "failed";

/**
 * The finish reasons of OpenAI, vLLM, SGLang, llama.cpp, TGI, Ollama, LM Studio, Mistral and the gateways in front of them. `timeout`
 * and `cancelled` are the upstream's, not the policy's and the client's.
 */
const ENDS: ReadonlyMap<string, UpstreamEnd> = new Map(
  Object.entries({
    stop: [
      "stop",
      "eos",
      "eos_token",
      "stop_sequence",
      "end_turn",
      "complete",
      "completed",
      "finished",
      "done",
    ],
    length: ["length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"],
    content_filter: [
      "content_filter",
      "content_filtered",
      "refusal",
      "safety",
      "sensitive",
      "recitation",
      "prohibited_content",
      "blocklist",
      "spii",
      "guardrail_intervened",
      "error_toxic",
    ],
    tool_calls: ["tool_calls", "tool_use", "function_call"],
    failed: [
      "abort",
      "aborted",
      "cancelled",
      "canceled",
      "error",
      "failed",
      "insufficient_system_resource",
      "load",
      "model_unloaded",
      "network_error",
      "timeout",
      "unload",
    ],
  } satisfies Partial<Record<UpstreamEnd, string[]>>).flatMap(([end, names]) =>
    names.map((name) => [name, end as UpstreamEnd] as const),
  ),
);

/** Some servers write their language's null as a text. */
const NO_REASONS: ReadonlySet<string> = new Set(["", "null", "none", "undefined"]);

/** @returns `other` for a reason that is not known; undefined while there is none */
export function toUpstreamEnd(reason: unknown): UpstreamEnd | undefined {
  // SGLang's own API has an object.
  const name = typeof reason === "object" && reason !== null && "type" in reason ? reason.type : reason;
  if (typeof name !== "string" || NO_REASONS.has(name.toLowerCase())) return undefined;
  const [known = ""] = name
    .toLowerCase()
    .replace(/^finishreason\./, "")
    .split(":");
  return ENDS.get(known) ?? (/error|fail/.test(known) ? "failed" : "other");
}
