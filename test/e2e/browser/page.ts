import { createClient } from "@reprise/client";

/*
 * Does what a page would do: run a generation, show its text as it comes, and tell how it went. Bundled for the browser by the
 * test, which leaves the platform's address and key in the page's own address.
 */

const settings = new URLSearchParams(location.hash.slice(1));
const output = document.querySelector("pre")!;

async function show(): Promise<void> {
  const client = createClient({
    url: settings.get("url")!,
    apiKey: settings.get("key")!,
    retry: { baseDelayMs: 1, maxDelayMs: 20 },
  });
  const stream = client.generations.run({
    model: "sim",
    input: "Tell me a story.",
    options: { tokens: 150, tokens_per_second: 100, seed: 9 },
  });
  for await (const event of stream) {
    if (event.type === "output.delta") output.textContent = stream.text;
  }
  output.dataset["id"] = stream.id;
  output.dataset["reconnects"] = String(stream.reconnects);
  output.dataset["status"] = stream.status;
}

show().catch((error: unknown) => {
  output.dataset["status"] = `threw ${String(error)}`;
});
