import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A model server that says what a test tells it to, and only then: what happens in between may take any time. For one request. */
export interface ToldModel extends AsyncDisposable {
  /** What a models file says of it, with the model's name. */
  readonly modelsFile: string;
  readonly baseUrl: string;
  /** Says these once it is asked. */
  say(texts: readonly string[]): Promise<void>;
  /** Says that this was all. */
  finish(): Promise<void>;
}

export async function startToldModel(name: string): Promise<ToldModel> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    // Whether it is there: this will do.
    if (request.method !== "POST") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    asked.resolve(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    baseUrl,
    modelsFile: JSON.stringify({
      models: { [name]: { engine: "openai", base_url: baseUrl, upstream_model: name } },
    }),
    async say(texts) {
      const response = await asked.promise;
      for (const content of texts) response.write(encodeChunk({ content }, null));
    },
    async finish() {
      const response = await asked.promise;
      response.end(`${encodeChunk({}, "stop")}data: [DONE]\n\n`);
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function encodeChunk(delta: object, finishReason: string | null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;
}
