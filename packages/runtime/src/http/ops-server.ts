import { once } from "node:events";
import { createServer } from "node:http";
import { boundPipelining } from "./bound-pipelining.ts";
import { type HttpAddress, listenHttp, toListenError } from "./listen-http.ts";
import type { Metrics } from "./metrics.ts";

export interface OpsSource {
  metrics: Metrics;
  /** Why this process can't take work now, in words for people: empty when it can. Not being ready is no reason for a restart. */
  notReadyBecause: () => readonly string[];
}

export interface OpsAnswer {
  status: 200 | 503;
  contentType: string;
  body: string;
}

export const OPS_PATHS = ["/healthz", "/readyz", "/metrics"] as const;
export type OpsPath = (typeof OPS_PATHS)[number];

export type OpsHandler = (path: OpsPath) => Promise<OpsAnswer>;

export function isOpsPath(path: string): path is OpsPath {
  return (OPS_PATHS as readonly string[]).includes(path);
}

/**
 * Answers liveness, readiness and Prometheus' scrapes.
 * `/healthz` is 200 as long as the event loop turns; `/readyz` is 503 with the reasons while there are any.
 */
export function createOpsHandler({ metrics, notReadyBecause }: OpsSource): OpsHandler {
  return async (path) => {
    switch (path) {
      case "/healthz":
        return toJson(200, { status: "ok" });
      case "/readyz": {
        const because = notReadyBecause();
        return because.length === 0
          ? toJson(200, { status: "ready" })
          : toJson(503, { status: "not_ready", because });
      }
      case "/metrics":
        return { status: 200, contentType: metrics.contentType, body: await metrics.render() };
    }
  };
}

function toJson(status: OpsAnswer["status"], body: unknown): OpsAnswer {
  return { status, contentType: "application/json; charset=utf-8", body: JSON.stringify(body) };
}

export interface OpsServer extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

/** No page may read an answer: there is no CORS header among them. */
const HEADERS = { "x-content-type-options": "nosniff", "cache-control": "no-store" };

/**
 * Serves a handler on a port of its own.
 * @throws RepriseError `config_invalid` if the port is taken
 */
export async function startOpsServer(handler: OpsHandler, address: HttpAddress): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split("?", 1)[0] ?? "";
    const isKnown = isOpsPath(path);
    // Load balancers may ask with HEAD.
    if (!isKnown || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(isKnown ? 405 : 404, { ...HEADERS, ...(isKnown && { allow: "GET, HEAD" }) }).end();
      return;
    }
    handler(path).then(
      ({ status, contentType, body }) =>
        response.writeHead(status, { ...HEADERS, "content-type": contentType }).end(body),
      () => response.writeHead(500, HEADERS).end(),
    );
  });
  boundPipelining(server);
  const url = await listenHttp(server, address).catch((error: unknown) => {
    throw toListenError(error, "REPRISE_OPS_PORT");
  });
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url, close, [Symbol.asyncDispose]: close };
}

/** OpenTelemetry's port for exporters that Prometheus scrapes. */
const OPS_PORT = 9_464;

interface OpsEnvironment {
  readonly REPRISE_OPS_HOST: string;
  readonly REPRISE_OPS_PORT: number | undefined;
}

/** Where health and metrics of a process without an API are; undefined: it does not serve them. */
export function opsAddressOf(env: OpsEnvironment): HttpAddress | undefined {
  const { REPRISE_OPS_HOST: host, REPRISE_OPS_PORT: port } = env;
  return port === undefined ? undefined : { host, port };
}

/** Where they are in a process with an API: always on a port of their own, and on a free one where the API is on a free one. */
export function opsAddressBesideApi(env: OpsEnvironment & { readonly REPRISE_PORT: number }): HttpAddress {
  const fallback = env.REPRISE_PORT === 0 ? 0 : OPS_PORT;
  return { host: env.REPRISE_OPS_HOST, port: env.REPRISE_OPS_PORT ?? fallback };
}
