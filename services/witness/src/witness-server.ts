import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type HttpAddress, type HttpMetrics, listenHttp } from "@reprise/runtime";
import type { AddOutcome, Witness } from "./witness.ts";

export interface WitnessServerOptions extends HttpAddress {
  witness: Witness;
  /** Counts requests. Default: nothing does. */
  http?: HttpMetrics;
  /** Called for each request once it is answered. */
  onAnswered?: (request: AnsweredRequest) => void;
  onError: (error: unknown) => void;
}

export interface WitnessServer extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

/** Nothing in it is the client's own text. */
export interface AnsweredRequest {
  /** The pattern, never the URL; undefined where none matches. */
  readonly route: Route | undefined;
  readonly status: number;
  readonly ms: number;
  /** The result for a checkpoint. */
  readonly result: CosignResult | undefined;
}

type Route = "/add-checkpoint" | "/checkpoint/:origin" | "/healthz";

/** `conflict`: the log continues from another size than the witness has seen. `inconsistent`: it shows two histories. `failed`: 500. */
export const COSIGN_RESULTS = ["cosigned", "conflict", "inconsistent", "refused", "failed"] as const;
export type CosignResult = (typeof COSIGN_RESULTS)[number];

interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** A proof has 63 lines at most, and a note some signatures. */
const MAX_BODY_BYTES = 64 * 1_024;
const REQUEST_TIMEOUT_MS = 10_000;
const TEXT = "text/plain; charset=utf-8";
const NOT_FOUND: Answer = { status: 404 };
const ADD_PATH = "/add-checkpoint";
const CHECKPOINT_PATH = "/checkpoint/";

/**
 * Serves `POST /add-checkpoint` for logs, `GET /checkpoint/<origin>` for auditors, `GET /healthz`. It needs no key of its clients: it acts only on
 * valid signatures.
 */
export async function startWitnessServer(options: WitnessServerOptions): Promise<WitnessServer> {
  const { witness, http, onAnswered, onError } = options;
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      const askedAtMs = performance.now();
      const route = routeOf(request);
      http?.arrived();
      response.once("close", () => http?.over());
      const end = (given: Answer) => {
        const { method = "" } = request;
        http?.answered({ method, route, status: given.status }, (performance.now() - askedAtMs) / 1_000);
        send(response, given);
        const ms = Math.round(performance.now() - askedAtMs);
        const result = route === ADD_PATH ? toResult(given.status) : undefined;
        onAnswered?.({ route, status: given.status, ms, result });
      };
      answer(request, route, witness).then(end, (error: unknown) => {
        onError(error);
        end({ status: 500 });
      });
    },
  );
  const url = await listenHttp(server, options);
  const close = async (): Promise<void> => {
    const closed = once(server, "close");
    server.close();
    server.closeIdleConnections();
    await closed;
  };
  return { url, close, [Symbol.asyncDispose]: close };
}

function routeOf({ url: path = "" }: IncomingMessage): Route | undefined {
  if (path === ADD_PATH || path === "/healthz") return path;
  return path.startsWith(CHECKPOINT_PATH) ? "/checkpoint/:origin" : undefined;
}

function toResult(status: number): CosignResult {
  switch (status) {
    case 200:
      return "cosigned";
    case 409:
      return "conflict";
    case 422:
      return "inconsistent";
    default:
      return status >= 500 ? "failed" : "refused";
  }
}

async function answer(request: IncomingMessage, route: Route | undefined, witness: Witness): Promise<Answer> {
  const { method, url: path = "" } = request;
  if (route === ADD_PATH) {
    if (method !== "POST") return { status: 405 };
    const body = await readBody(request);
    return body === undefined ? { status: 413 } : toAnswer(await witness.add(body));
  }
  if (method !== "GET" || route === undefined) return NOT_FOUND;
  if (route === "/healthz") return { status: 200, contentType: TEXT, body: "ok\n" };
  const note = await witness.latest(path.slice(CHECKPOINT_PATH.length));
  return note === undefined ? NOT_FOUND : { status: 200, contentType: TEXT, body: note };
}

function toAnswer(outcome: AddOutcome): Answer {
  switch (outcome.kind) {
    case "cosigned":
      return { status: 200, contentType: TEXT, body: outcome.lines };
    case "malformed":
      return { status: 400 };
    case "unsigned":
      return { status: 403 };
    case "unknown_log":
      return NOT_FOUND;
    case "conflict":
      return { status: 409, contentType: "text/x.tlog.size", body: `${outcome.size}\n` };
    case "inconsistent":
      return { status: 422 };
  }
}

/** Undefined for a body that is too long, which is read to its end and not kept: who sends it gets an answer. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks).toString() : undefined;
}

function send(response: ServerResponse, { status, contentType = TEXT, body = "" }: Answer): void {
  response.writeHead(status, { "content-type": contentType }).end(body);
}
