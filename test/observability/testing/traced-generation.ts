import { createClient, type GenerationStream } from "@reprise/client";
import { expect } from "vitest";
import type { ObservedPlatform } from "./observed-platform.ts";

/**
 * A generation with a tool's answer and a reader that leaves and comes back. The worker stands still until the reader is there: how the first output came to it
 * is measured of a reader that waits for it. @returns its id
 */
export async function runTracedGeneration({ url, apiKey, worker }: ObservedPlatform): Promise<string> {
  const { generations } = createClient({ url, apiKey });
  const request = {
    model: "sim",
    input: "What is a log?",
    tools: [{ name: "look_up", parameters: { type: "object" } }],
    options: { tokens: 60, tokens_per_second: 80, first_token_ms: 250, tool_call_after_tokens: 25 },
    policy: {
      moderation: {
        mode: "retract" as const,
        rules: ["cards" as const],
        on_unavailable: { after_ms: 600_000 },
      },
    },
  };
  await worker.pause();
  const asked = generations.run(request);
  const left = readUntilText(asked);
  await expect.poll(() => asked.id).toBeDefined();
  worker.resume();
  await left;
  const { id = "", cursor } = asked;
  const tools = { look_up: async () => "A list that only grows." };
  await generations.stream(id, { ...(cursor !== undefined && { after: cursor }), tools }).done();
  return id;
}

async function readUntilText(stream: GenerationStream): Promise<void> {
  for await (const event of stream) if (event.type === "output.delta") break;
}
