import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isSigned, type S3Access } from "./s3-signature.ts";

/**
 * The fault of one request. A number: that status, without any effect. `cut`: the connection ends without an answer; `hang`:
 * no answer comes; `cut-body`: half an answer. With `after` before it, the request takes effect first.
 */
export type S3Fault = number | "cut" | "hang" | "cut-body" | "after-cut" | "after-hang" | "after-503";

/** The handling of `If-None-Match: *`. */
export type Conditions = "honoured" | "ignored" | "refused";

export interface S3ServerOptions {
  readonly conditions?: Conditions;
  /** Objects on a page of a listing. Default 1000. */
  readonly page?: number;
  /** Answers requests for a part of an object with all of it. */
  readonly ignoresRange?: boolean;
  /** Asked for each request that is signed. */
  readonly fault?: (request: { method: string; key: string; n: number }) => S3Fault | undefined;
}

export interface S3Server extends AsyncDisposable, S3Access {
  /** URL of its one bucket. */
  readonly url: string;
  readonly objects: Map<string, Uint8Array>;
  /** Method and key of each request that was signed. */
  readonly requests: readonly string[];
}

const BUCKET = "audit";
const ACCESS = { region: "eu-test-1", keyId: "AKIATEST", secret: "this/is+the=secret" };

/** An S3 in memory, as far as an archive needs it: one bucket, path-style, single puts. It believes no request that is not signed. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const objects = new Map<string, Uint8Array>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => answer(request, response, body));
  });

  const answer = (request: IncomingMessage, response: ServerResponse, body: Uint8Array): void => {
    const url = new URL(request.url ?? "/", "http://any");
    const [, bucket, ...parts] = decodeURIComponent(url.pathname).split("/");
    if (!isSigned(request, body, ACCESS)) return refuse(response, 403, "SignatureDoesNotMatch");
    if (bucket !== BUCKET) return refuse(response, 404, "NoSuchBucket");
    const call = { method: request.method ?? "", key: parts.join("/") };
    const n = requests.push(`${call.method} ${call.key}`) - 1;
    const fault = options.fault?.({ ...call, n });
    if (typeof fault === "number") return refuse(response, fault, "SlowDown");
    if (fault === "cut") return void request.socket.destroy();
    if (fault === "hang") return;
    if (fault === "cut-body") {
      response.writeHead(200, { "content-length": 1_000 }).write("half of it", () => response.destroy());
      return;
    }
    const perform = () => handle(request, response, { ...call, url, body });
    if (fault === undefined) return perform();
    const aside = { writeHead: () => aside, end: () => {} } as unknown as ServerResponse;
    handle(request, aside, { ...call, url, body });
    if (fault === "after-cut") request.socket.destroy();
    if (fault === "after-503") refuse(response, 503, "SlowDown");
  };

  const handle = (
    request: IncomingMessage,
    response: ServerResponse,
    { method, key, url, body }: { method: string; key: string; url: URL; body: Uint8Array },
  ): void => {
    const there = objects.get(key);
    if (method === "GET" && key === "") return list(response, url.searchParams);
    if (method === "GET") {
      if (!there) return refuse(response, 404, "NoSuchKey");
      const range = options.ignoresRange ? undefined : request.headers.range;
      return range ? sendPart(response, there, range) : void response.writeHead(200).end(there);
    }
    if (method === "DELETE") {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (request.headers["if-none-match"] === "*") {
      if (options.conditions === "refused") return refuse(response, 501, "NotImplemented");
      if (options.conditions !== "ignored" && there) return refuse(response, 412, "PreconditionFailed");
    }
    objects.set(key, body);
    response.writeHead(200).end();
  };

  const list = (response: ServerResponse, query: URLSearchParams): void => {
    const prefix = query.get("prefix") ?? "";
    // Opaque to its client, and full of characters with a meaning in a query.
    const after = query.get("continuation-token")?.slice("+/=& ".length);
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const startAfter = query.get("start-after") ?? "";
    const rest = keys.filter((key) => key > (after ?? startAfter));
    const page = rest.slice(0, Math.min(options.page ?? 1_000, Number(query.get("max-keys"))));
    const contents = page.map(
      (key) => `<Contents><Key>${escape(key)}</Key><Size>${objects.get(key)!.length}</Size></Contents>`,
    );
    const next =
      rest.length > page.length
        ? `<NextContinuationToken>${escape(`+/=& ${page.at(-1)}`)}</NextContinuationToken>`
        : "";
    response.writeHead(200).end(`<ListBucketResult>${contents.join("\n")}${next}</ListBucketResult>`);
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...ACCESS,
    url: `http://127.0.0.1:${port}/${BUCKET}`,
    objects,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  return Buffer.concat(await request.toArray());
}

function sendPart(response: ServerResponse, bytes: Uint8Array, range: string): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range)!;
  if (Number(first) >= bytes.length) return refuse(response, 416, "InvalidRange");
  response.writeHead(206).end(bytes.subarray(Number(first), Number(last) + 1));
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
