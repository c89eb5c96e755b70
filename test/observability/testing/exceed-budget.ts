import { expect } from "vitest";

/** Asks for a generation that the tenant's budget has no room for. */
export async function exceedBudget({
  url,
  spentApiKey,
}: {
  url: string;
  spentApiKey: string;
}): Promise<void> {
  const response = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${spentApiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim", input: "Say it." }),
  });
  expect(await response.json()).toMatchObject({ error: { code: "budget_exceeded" } });
}
