import { createClient, type GenerationRequest } from "@reprise/client";
import { expect } from "vitest";

const CARD = "4111 1111 1111 1111";

export interface Driven {
  readonly url: string;
  readonly apiKey: string;
  readonly spentApiKey: string;
}

/** Drives the metrics: generations complete, fail, are cancelled, abandoned, redacted, resumed and refused. */
export async function drive({ url, apiKey, spentApiKey }: Driven): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  const ask = (asked: Omit<GenerationRequest, "model" | "input">) =>
    generations.run({ model: "sim", input: "Say it.", ...asked });

  const broken = ask({ options: { tokens: 50, tokens_per_second: 200 } });
  for await (const event of broken) if (event.type === "output.delta") break;
  const { id = "", cursor } = broken;
  const resumed = await generations.stream(id, cursor === undefined ? {} : { after: cursor }).done();
  expect(resumed.status).toBe("completed");

  expect((await ask({ options: { tokens: 20, fail_after_tokens: 5 } }).done()).status).toBe("failed");

  const endless = ask({ options: { tokens: 100_000, tokens_per_second: 20 } });
  for await (const event of endless) if (event.type === "output.delta") await endless.cancel();
  expect(endless.status).toBe("cancelled");

  const abandoned = await generations.create({
    model: "sim",
    input: "Say it.",
    options: { tokens: 100_000, tokens_per_second: 20 },
    policy: { on_disconnect: { cancel_after: 0 } },
  });
  await expect.poll(async () => (await generations.get(abandoned.id)).status).toBe("cancelled");

  expect(await exceedBudget({ url, spentApiKey })).toBe("budget_exceeded");

  const chunks = ["The card is ", CARD, ", and ", "that ", "is ", "all."];
  for (const mode of ["retract", "gate"] as const) {
    const moderation = { mode, rules: ["cards" as const], on_unavailable: { after_ms: 600_000 } };
    const judged = ask({ options: { chunks, tokens_per_second: 50 }, policy: { moderation } });
    expect((await judged.done()).status).toBe("completed");
  }
}

/** Asks for a generation that the tenant's budget has no room for, and returns the code of the refusal. */
export async function exceedBudget({ url, spentApiKey }: Omit<Driven, "apiKey">): Promise<string> {
  const response = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${spentApiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim", input: "Say it." }),
  });
  const { error } = (await response.json()) as { error: { code: string } };
  return error.code;
}
