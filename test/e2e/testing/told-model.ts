import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A model server that says what a test tells it to, and only then: what happens in between may take any time. */
export interface ToldModel extends AsyncDisposable {
  /** Its entry in a models file, with the model's name. */
  readonly modelsFile: string;
  readonly baseUrl: string;
  /** Resolves with the body of a request, counted from 0, once it has come. */
  asked(request: number): Promise<string>;
  /** Says these to the last request that has come, once there is one. */
  say(texts: readonly string[]): Promise<void>;
  /** Says that this was all. */
  finish(): Promise<void>;
}

/** @param fields what a models file says of it beside its address */
export async function startToldModel(name: string, fields: object = {}): Promise<ToldModel> {
  const requests: { readonly body: string; readonly response: ServerResponse }[] = [];
  let another = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    // Whether it is there: this will do.
    if (request.method !== "POST") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    void text(request).then((body) => {
      requests.push({ body, response });
      another.resolve();
      another = Promise.withResolvers();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const answer = async () => {
    while (requests.length === 0) await another.promise;
    return requests.at(-1)!.response;
  };
  return {
    baseUrl,
    modelsFile: JSON.stringify({
      models: { [name]: { engine: "openai", base_url: baseUrl, upstream_model: name, ...fields } },
    }),
    async asked(request) {
      while (requests.length <= request) await another.promise;
      return requests[request]!.body;
    },
    async say(texts) {
      const response = await answer();
      for (const content of texts) response.write(encodeChunk({ content }, null));
    },
    async finish() {
      const response = await answer();
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
