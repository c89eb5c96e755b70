// Is checked, and never run: what an event is known to be where its type was compared.
import { createClient, type StreamEvent } from "@reprise/client";

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
