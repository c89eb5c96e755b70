import { createClient, type GenerationRequest } from "@reprise/client";
import type { ObservedPlatform } from "./observed-platform.ts";

const CARD = "4111 1111 1111 1111";
const CALLERS = 6;

/**
 * Callers of two tenants that ask one after another until a time of `performance.now()`, for answers of many lengths: some are moderated, some tell a card, few
 * fail, some leave and come back.
 */
export async function load({ url, apiKey, otherApiKey }: ObservedPlatform, untilMs: number): Promise<void> {
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    const { generations } = createClient({
      url,
      apiKey: caller < 4 ? apiKey : otherApiKey,
      reportTimings: true,
    });
    for (let turn = caller; performance.now() < untilMs; turn += CALLERS) {
      const stream = generations.run(requestOf(turn));
      if (turn % 7 !== 3) {
        await stream.done();
        continue;
      }
      for await (const event of stream) if (event.type === "output.delta") break;
      const { id = "", cursor } = stream;
      await generations.stream(id, cursor === undefined ? {} : { after: cursor }).done();
    }
  });
  await Promise.all(callers);
}

/** Differs from turn to turn, and is the same in each run. */
function requestOf(turn: number): GenerationRequest {
  const base = { model: "sim", input: "Say it." };
  const first_token_ms = 80 + ((turn * 37) % 400);
  const tokens_per_second = 60 + ((turn * 13) % 60);
  if (turn % 401 === 5) return { ...base, options: { tokens: 40, fail_after_tokens: 10 } };
  if (turn % 5 !== 0)
    return { ...base, options: { tokens: 20 + ((turn * 29) % 120), first_token_ms, tokens_per_second } };
  const chunks = ["The card is ", CARD, ", ", ...Array.from({ length: 30 }, (_, i) => `word ${i} `)];
  const mode = turn % 2 === 0 ? ("retract" as const) : ("gate" as const);
  return {
    ...base,
    options: { chunks, first_token_ms, tokens_per_second },
    policy: { moderation: { mode, rules: ["cards"], on_unavailable: { after_ms: 60_000 } } },
  };
}
