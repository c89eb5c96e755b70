import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { content, DONE, finish, ROLE } from "./chat-frames.ts";

type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

interface StoredFile {
  readonly id: string;
  readonly purpose: string;
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

/** A model server with files: it refuses a completion that names one that it does not have, as it does so with 400. */
export interface FilesServer extends AsyncDisposable {
  readonly baseUrl: string;
  /** What it has now. */
  readonly files: ReadonlyMap<string, StoredFile>;
  /** All uploads that it took, in order. */
  readonly uploads: readonly StoredFile[];
  /** The bodies of the completions that it was asked for. */
  readonly asked: readonly { messages: { content: unknown }[] }[];
  /** Methods and paths of all requests, in order. */
  readonly calls: readonly string[];
  /** What happens to the next uploads, in place of their being taken. */
  nextUploads(...serves: Serve[]): void;
  /** What happens to the next completions. */
  nextCompletions(...serves: Serve[]): void;
  /** Loses files, as a server does whose files are over. */
  forget(...ids: string[]): void;
}

const NO = { error: { message: "No.", type: "invalid_request_error" } };

/** @param prefix of ids, where there are several servers */
export async function startFilesServer(prefix = "file"): Promise<FilesServer> {
  const files = new Map<string, StoredFile>();
  const uploads: StoredFile[] = [];
  const asked: { messages: { content: unknown }[] }[] = [];
  const calls: string[] = [];
  const [uploading, completing]: [Serve[], Serve[]] = [[], []];

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const isWhole = Number(request.headers["content-length"]) === body.length;
    const headers = { "content-type": request.headers["content-type"]! };
    const form = await new Response(new Uint8Array(body), { headers }).formData();
    const [sent, purpose] = [form.get("file"), form.get("purpose")];
    if (!isWhole || !(sent instanceof File) || typeof purpose !== "string") return reply(response, 400, NO);
    const file = {
      id: `${prefix}-${uploads.length + 1}`,
      purpose,
      name: sent.name,
      type: sent.type,
      content: Buffer.from(await sent.arrayBuffer()),
    };
    uploads.push(file);
    files.set(file.id, file);
    reply(response, 200, { id: file.id, object: "file" });
  }

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString();
    asked.push(JSON.parse(text) as (typeof asked)[number]);
    const named = [...text.matchAll(/"file_id":"([^"]+)"/g)].map(([, id]) => id!);
    if (!named.every((id) => files.has(id))) return reply(response, 400, NO);
    answer(request, response);
  }

  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    calls.push(`${method} ${url}`);
    request.on("error", () => undefined);
    const id = url.split("/").at(-1)!;
    const serve =
      method === "POST" && (id === "files" ? (uploading.shift() ?? take) : (completing.shift() ?? complete));
    // A client that has left is answered nothing.
    if (serve) return void Promise.resolve(serve(request, response)).catch(() => undefined);
    const known = files.has(id);
    if (method === "DELETE") files.delete(id);
    reply(response, known ? 200 : 404, known ? { id } : { error: { message: "No such file." } });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    files,
    uploads,
    asked,
    calls,
    nextUploads: (...serves) => void uploading.push(...serves),
    nextCompletions: (...serves) => void completing.push(...serves),
    forget: (...ids) => ids.forEach((id) => files.delete(id)),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Takes the body, and says a word. */
export const answer: Serve = (request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end([ROLE, content("Read."), finish(), DONE].join(""));
};

/** Takes the body, and refuses it. */
export function refuse(status: number): Serve {
  return (request, response) => {
    request.resume();
    request.on("end", () => reply(response, status, NO));
  };
}

/** Refuses before the body is there, and reads no more of it. */
export function refuseEarly(status: number): Serve {
  return (request, response) => {
    request.once("data", () => request.pause());
    reply(response, status, { error: { message: "Too large." } });
  };
}

/** Takes some of the body, and breaks the connection. */
export function cutAfter(bytes: number): Serve {
  return (request) => {
    let taken = 0;
    request.on("data", (piece: Buffer) => {
      taken += piece.length;
      if (taken > bytes) request.socket.resetAndDestroy();
    });
  };
}
