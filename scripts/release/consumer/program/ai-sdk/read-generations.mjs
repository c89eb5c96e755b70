import { createReprise, toUIMessageStreamResponse } from "@reprise/ai-sdk";
import { createClient } from "@reprise/client";
import { streamText } from "ai";

/**
 * What a program asks of the platform: a generation by `streamText`, one that a route handler tells from the begin and from the middle, and one
 * that is cancelled while it streams, which takes hours otherwise.
 *
 * @param {{ url: string, apiKey: string }} platform
 * @returns what `findReadingProblems` judges
 */
export async function readGenerations({ url, apiKey }) {
  const { generations } = createClient({ url, apiKey });
  const reprise = createReprise({ baseUrl: url, apiKey });
  const options = { tokens: 64, tokens_per_second: 400 };
  const result = streamText({
    model: reprise("sim"),
    prompt: "Tell me about streams.",
    maxRetries: 0,
    providerOptions: { reprise: { options } },
  });
  let streamed = "";
  for await (const delta of result.textStream) streamed += delta;
  const { id } = await result.response;
  const { text, status } = await generations.get(id);

  const whole = await chunksOf(toUIMessageStreamResponse(generations.stream(id)));
  const rest = await chunksOf(toUIMessageStreamResponse(generations.stream(id), { startIndex: 7 }));
  if (textOf(whole) !== text) throw new Error(`The response tells ${textOf(whole)}, not ${text}`);
  if (JSON.stringify(rest) !== JSON.stringify(whole.slice(7)))
    throw new Error("A response from chunk 7 on has other chunks");

  const request = { model: "sim", input: "Go on.", options: { tokens: 1_000_000 } };
  const endless = await generations.create(request);
  const chunks = toUIMessageStreamResponse(generations.stream(endless.id)).body?.getReader();
  for (let read = 0; read < 4; read++) await chunks?.read();
  await chunks?.cancel();
  const { status: cancelled } = await generations.cancel(endless.id);
  return { text, streamed, status, cancelled };
}

/** @param {Response} response */
async function chunksOf(response) {
  const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "");
  if (frames.pop() !== "data: [DONE]") throw new Error("The response has no end");
  return frames.map((frame) => JSON.parse(frame.slice("data: ".length)));
}

/** @param {readonly { type: string, delta?: string }[]} chunks */
function textOf(chunks) {
  return chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
}
