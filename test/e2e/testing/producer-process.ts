import { createClient } from "@reprise/client";
import { claimProducer, produce, type Producer } from "@reprise/client/produce";

/* A producer that runs in a process of its own: it writes numbered words from where the text ends, and says so on its standard output. */

const [url = "", apiKey = "", words = "", id] = process.argv.slice(2);
const client = createClient({ url, apiKey });
const producer: Producer = id ? await claimProducer(client, id) : await produce(client, { input: "count" });
const text = Array.from({ length: Number(words) }, (_, i) => `wörd-${i} `).join("");
process.stdout.write(`${producer.id}\n`);
for (let at = producer.grant.text_length; at < text.length; at += 7)
  await producer.append(text.slice(at, at + 7));
await producer.end();
