// Is checked, and never run: what an event is known to be where its type was compared.
import { createClient, type StreamEvent } from "@reprise/client";
import { blobsOf } from "@reprise/client/blobs";
import { conversationsOf } from "@reprise/client/conversations";
import { partialsOf } from "@reprise/client/json";
import { modelsOf } from "@reprise/client/models";

export async function textOf(events: AsyncIterable<StreamEvent>): Promise<string> {
  let whole = "";
  for await (const event of events) {
    if (event.type !== "output.delta") continue;
    const text: string = event.text;
    // @ts-expect-error a string is no number; `any` would be, and then this line is an error
    const wrong: number = event.text;
    whole += text + String(wrong);
  }
  return whole;
}

const client = createClient({ url: "http://127.0.0.1:8080", apiKey: "rk_demo" });
const run = client.generations.run({ model: "sim", input: "Tell me about streams." });
export const text: Promise<string> = textOf(run);
// @ts-expect-error a request needs a model
client.generations.run({ input: "Tell me about streams." });

export async function cityOf(): Promise<string | undefined> {
  for await (const { value } of partialsOf<{ city: string; people: number }>(run)) {
    const city: string | undefined = value.city;
    // @ts-expect-error a field that has not come yet is undefined; `any` would do
    const people: number = value.people;
    if (people > 0) return city;
  }
  return undefined;
}

export async function turnOf(stored: string, stream: ReadableStream<Uint8Array>): Promise<string> {
  const { id, type } = await blobsOf(client).upload(stream, { ttlSeconds: 60 });
  await client.generations.create({ model: "sim", input: type, conversation: stored });
  for await (const { role, generation } of conversationsOf(client).items(stored)) {
    const known: "user" | "assistant" | "system" | "developer" | "tool" = role;
    // @ts-expect-error instructions are of no turn
    const turn: string = generation;
    if (turn !== known) break;
  }
  const [model] = await modelsOf(client);
  // @ts-expect-error the platform may not know it
  const tokens: number = model?.context_tokens;
  return `${id} ${tokens}`;
}
