import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface FakeUploads extends AsyncDisposable {
  readonly url: string;
  /** `POST /v1/blobs 20`: method, path and how many bytes came with it. */
  readonly requests: readonly string[];
  readonly headers: readonly IncomingMessage["headers"][];
  /** Returns what is stored. */
  content(): Buffer;
}

/** One blob's delivery service over real HTTP, as PROTOCOL.md §17 has it. The first `cuts` requests get no answer. */
export async function startFakeUploads({ cuts = 0 } = {}): Promise<FakeUploads> {
  const requests: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  let content = Buffer.alloc(0);
  let type = "text/plain";

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    requests.push(`${request.method} ${request.url} ${body.length}`);
    headers.push(request.headers);
    if (requests.length <= cuts) return void response.destroy();
    if (request.method === "GET")
      return void response
        .writeHead(200, { "content-type": type, "content-length": content.length })
        .end(content);
    content = body;
    type = request.headers["content-type"]!;
    const blob = { id: "blob_1", type, bytes: content.length, expires_at: "later" };
    response.writeHead(201).end(JSON.stringify(blob));
  }

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    content: () => content,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
