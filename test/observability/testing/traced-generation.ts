import { createClient } from "@reprise/client";
import type { ObservedPlatform } from "./observed-platform.ts";

/** A generation with a tool's answer and two readers, one of which comes back. @returns its id */
export async function runTracedGeneration({ url, apiKey }: ObservedPlatform): Promise<string> {
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
        on_unavailable: { after_ms: 60_000 },
      },
    },
  };
  const asked = generations.run(request);
  for await (const event of asked) if (event.type === "output.delta") break;
  const { id = "", cursor } = asked;
  const tools = { look_up: async () => "A list that only grows." };
  await generations.stream(id, { ...(cursor !== undefined && { after: cursor }), tools }).done();
  return id;
}
