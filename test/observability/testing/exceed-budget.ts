/** Asks for a generation that the tenant's budget has no room for. @returns the code of the refusal */
export async function exceedBudget({
  url,
  spentApiKey,
}: {
  url: string;
  spentApiKey: string;
}): Promise<string> {
  const response = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${spentApiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim", input: "Say it." }),
  });
  const { error } = (await response.json()) as { error: { code: string } };
  return error.code;
}
