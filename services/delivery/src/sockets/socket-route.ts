import type { IncomingMessage } from "node:http";
import websocket from "@fastify/websocket";
import { RepriseError } from "@reprise/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { SOCKET_LIMITS, SOCKET_PROTOCOL, SOCKET_TOKEN_PROTOCOL } from "./socket-frames.ts";
import { SocketSession } from "./socket-session.ts";

const PATH = "/v1/ws";

/** Methods that each path takes. */
export const SOCKET_PATHS = { [PATH]: ["GET"] } as const;

/** Milliseconds that a client may take to answer a close. */
const CLOSE_MS = 5_000;

/** True for a request whose connection becomes a WebSocket. Other protocols that clients offer, such as h2c, are ignored as HTTP permits. */
export function isSocketUpgrade({ url = "", headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket" && /^\/v1\/ws(?:\?|$)/.test(url);
}

/** Adds the route at which clients open a WebSocket. The key comes with the upgrade, as a header or a subprotocol, or in the first frame. */
export async function addSocketRoute(
  app: FastifyInstance,
  { draining }: { readonly draining: AbortSignal },
): Promise<void> {
  const options = {
    maxPayload: SOCKET_LIMITS.frame_bytes,
    closeTimeout: CLOSE_MS,
    autoPong: false,
    handleProtocols: (offered: Set<string>) => offered.has(SOCKET_PROTOCOL) && SOCKET_PROTOCOL,
  };
  await app.register(websocket, { options });
  app.route({
    method: "GET",
    url: PATH,
    config: { authenticatesItself: true },
    handler: () => {
      throw new RepriseError("invalid_request", `This path takes a WebSocket, with ${SOCKET_PROTOCOL}.`);
    },
    wsHandler: (socket, request) => {
      if (socket.protocol !== SOCKET_PROTOCOL)
        return socket.close(1002, `the subprotocol must be ${SOCKET_PROTOCOL}`);
      const session = { app, socket, draining, remoteAddress: request.clientAddress ?? request.ip };
      new SocketSession({ ...session, authorization: authorizationOf(request) }).begin();
    },
  });
}

function authorizationOf({ headers }: FastifyRequest): string | undefined {
  const { authorization, "sec-websocket-protocol": offered = "" } = headers;
  const token = offered
    .split(",")
    .map((one) => one.trim())
    .find((one) => one.startsWith(SOCKET_TOKEN_PROTOCOL))
    ?.slice(SOCKET_TOKEN_PROTOCOL.length);
  return authorization ?? (token && `Bearer ${token}`);
}
