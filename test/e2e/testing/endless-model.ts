import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A model server that never stops by itself: its answer ends when its client closes the connection. */
export interface EndlessModel extends AsyncDisposable {
  /** What a models file says of it, with the model's name. */
  readonly modelsFile: string;
  /** Resolves when the only request was given up. */
  readonly givenUp: Promise<unknown>;
}

const EVERY_MS = 10;

/** Says these, and then `more` for ever. */
export async function startEndlessModel(name: string, first: readonly string[]): Promise<EndlessModel> {
  const givenUp = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    let said = 0;
    const saying = setInterval(() => {
      const choice = { index: 0, delta: { content: first[said++] ?? "more " }, finish_reason: null };
      response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    }, EVERY_MS);
    response.on("close", () => {
      clearInterval(saying);
      givenUp.resolve();
    });
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const model = { engine: "openai", base_url: baseUrl, upstream_model: name };
  return {
    modelsFile: JSON.stringify({ models: { [name]: model } }),
    givenUp: givenUp.promise,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
