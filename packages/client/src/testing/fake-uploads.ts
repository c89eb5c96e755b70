import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What goes wrong with one PATCH: it is cut after so many stored bytes, its answer is lost, or another one is being stored yet. */
export type UploadFault =
  | { readonly kind: "none" }
  | { readonly kind: "cut"; readonly stored: number }
  | { readonly kind: "answer_lost" }
  | { readonly kind: "conflict" };

export interface FakeUploads extends AsyncDisposable {
  readonly url: string;
  /** `POST /v1/blobs 0`: method, path and how many bytes came with it. */
  readonly requests: readonly string[];
  readonly headers: readonly IncomingMessage["headers"][];
  /** What is stored. */
  content(): Buffer;
}

const UPLOAD = "/v1/uploads/upl_1";
const BLOB = "/v1/blobs/blob_1";

/** One upload's delivery service over real HTTP, as PROTOCOL.md §17.4 has it. The n-th PATCH meets the n-th fault. */
export async function startFakeUploads(faults: readonly UploadFault[] = []): Promise<FakeUploads> {
  const requests: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  let content = Buffer.alloc(0);
  let isFinished = false;
  let patches = 0;
  let type = "text/plain";

  const blob = () => JSON.stringify({ id: "blob_1", type, bytes: content.length, expires_at: "later" });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    requests.push(`${request.method} ${request.url} ${body.length}`);
    headers.push(request.headers);
    if (request.method === "POST") {
      if (request.headers["upload-complete"] === "?0")
        return void response.writeHead(201, { location: UPLOAD }).end();
      content = body;
      type = request.headers["content-type"]!;
      return void response.writeHead(201).end(blob());
    }
    if (request.method === "GET")
      return void response
        .writeHead(200, { "content-type": type, "content-length": content.length })
        .end(content);
    if (request.method === "HEAD" && request.url === BLOB)
      return void response
        .writeHead(200, {
          "content-type": "text/plain",
          "content-length": content.length,
          "reprise-expires-at": "later",
        })
        .end();
    if (request.method === "HEAD")
      return void response
        .writeHead(204, { "upload-offset": content.length, ...(isFinished && { "content-location": BLOB }) })
        .end();
    if (request.method === "DELETE") return void response.writeHead(204).end();
    patch(request, response, body);
  }

  function patch(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const fault = faults[patches++] ?? { kind: "none" };
    const isConflict = Number(request.headers["upload-offset"]) !== content.length;
    if (fault.kind === "conflict" || isConflict)
      return void response
        .writeHead(409)
        .end('{"error":{"code":"upload_conflict","message":"","retryable":false}}');
    content = Buffer.concat([content, fault.kind === "cut" ? body.subarray(0, fault.stored) : body]);
    if (fault.kind === "cut") return void response.destroy();
    isFinished = request.headers["upload-complete"] === "?1";
    if (fault.kind === "answer_lost") return void response.destroy();
    if (isFinished) response.writeHead(201).end(blob());
    else response.writeHead(204, { "upload-offset": content.length }).end();
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
