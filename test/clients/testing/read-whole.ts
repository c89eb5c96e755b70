import { type Asked, MESSAGES } from "./client.ts";

/** The text of one body of chat completions. */
export async function readChatBody(asked: Asked): Promise<string> {
  const { choices } = (await post(asked, "chat/completions", { messages: MESSAGES })) as {
    choices: [{ message: { content: string } }];
  };
  return choices[0].message.content;
}

/** The text of one body of the Responses API. */
export async function readResponseBody(asked: Asked): Promise<string> {
  const { output } = (await post(asked, "responses", { input: MESSAGES })) as {
    output: { type: string; content: { text: string }[] }[];
  };
  return output.flatMap(({ content }) => content.map(({ text }) => text)).join("");
}

async function post(
  { platform, scripts: [{ options }], tenant, idempotencyKey }: Asked,
  path: string,
  input: object,
): Promise<unknown> {
  if (idempotencyKey === undefined) throw new Error("Without a key it is another run.");
  const response = await fetch(`${platform.url}/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${platform.key(tenant)}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
    body: JSON.stringify({ model: "sim", ...input, options }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
