import { FINISH_REASONS, type FinishReason, RepriseError } from "@reprise/protocol";
import * as z from "zod";
import type { ToolCallDelta } from "./tool-call-assembly.ts";

/** What one chunk of a chat completion's stream says. */
export interface ChatChunk {
  /** "" when it has none. */
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
  readonly finishReason: FinishReason | undefined;
  readonly usage: ChatUsage | undefined;
}

export interface ChatUsage {
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
}

/** `error` is set when the upstream says in mid-stream that it has failed. */
export type ChatMessage = { readonly chunk: ChatChunk } | { readonly error: unknown };

const tokenCount = z.int().min(0).nullish();

const toolCall = z
  .object({
    index: z.int().min(0).nullish(),
    id: z.string().nullish(),
    function: z
      .object({
        name: z.string().nullish(),
        // The API has a text; some hand on what their own API has.
        arguments: z.union([z.string(), z.record(z.string(), z.json())]).nullish(),
      })
      .nullish(),
  })
  .transform(({ index, id, function: called }): ToolCallDelta => {
    const args = called?.arguments ?? "";
    return {
      index: index ?? undefined,
      id: id || undefined,
      name: called?.name || undefined,
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    };
  });

/** No more than is used: upstreams differ in everything else, and nulls and absent fields mean the same to all of them. */
const chunkSchema = z.object({
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        index: z.int().nullish(),
        delta: z
          .object({
            content: z.string().nullish(),
            reasoning: z.string().nullish(),
            reasoning_content: z.string().nullish(),
            tool_calls: z.array(toolCall).nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: z.object({ prompt_tokens: tokenCount, completion_tokens: tokenCount }).nullish(),
});

/**
 * Parses the data of one SSE message other than `[DONE]`. Of several choices the first counts: this version asks for one.
 * @throws RepriseError `engine_failed` when it is not a chunk
 */
export function parseChatMessage(data: string): ChatMessage {
  const parsed = chunkSchema.safeParse(parseJson(data));
  if (!parsed.success)
    throw new RepriseError("engine_failed", "The engine sent a chunk that is not one of a chat completion.");
  const { error, choices, usage } = parsed.data;
  if (error) return { error };
  const choice = choices?.find(({ index }) => (index ?? 0) === 0);
  const delta = choice?.delta;
  return {
    chunk: {
      text: delta?.content ?? "",
      // Gateways that serve old clients too send both names with the same text.
      reasoning: (delta?.reasoning || delta?.reasoning_content) ?? "",
      toolCalls: delta?.tool_calls ?? [],
      finishReason: toFinishReason(choice?.finish_reason),
      usage: usage
        ? { promptTokens: usage.prompt_tokens ?? null, completionTokens: usage.completion_tokens ?? null }
        : undefined,
    },
  };
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // The parser's own message quotes what the model said.
    throw new RepriseError("engine_failed", "The engine sent a chunk that is not JSON.");
  }
}

function toFinishReason(reason: string | null | undefined): FinishReason | undefined {
  if (!reason) return undefined;
  return FINISH_REASONS.find((known) => known === reason) ?? "other";
}
