import { createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { LIMITS, RepriseError } from "@reprise/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { mayStayOpen } from "../connections/http2.ts";
import type { RequestMetrics } from "../telemetry/request-metrics.ts";
import { Generations } from "./generated/reprise/v1/reprise_pb.ts";
import { CLIENT, createCalls } from "./rpc-calls.ts";
import { answerSession } from "./rpc-session.ts";

const pathOf = (method: { readonly name: string }) => `/${Generations.typeName}/${method.name}`;

/** Bytes of a session's message. */
const SESSION_MESSAGE_BYTES = 65_536;

/** Methods that each path takes. */
export const RPC_PATHS = Object.fromEntries(Generations.methods.map((method) => [pathOf(method), ["POST"]]));

export interface RpcRoutePorts {
  readonly requestMetrics: Pick<RequestMetrics, "answered">;
  readonly draining: AbortSignal;
}

/** Adds the calls of `reprise.proto`, in the protocols gRPC, gRPC-Web and Connect. */
export function addRpcRoutes(app: FastifyInstance, { requestMetrics, draining }: RpcRoutePorts): void {
  // Messages are as large as a body, and not compressed, as those of HTTP. Those of sessions are smaller: a session may keep half of one for ever.
  const calls = createConnectRouter({ readMaxBytes: LIMITS.bodyBytes, acceptCompression: [] });
  calls.service(Generations, createCalls(app));
  const sessions = createConnectRouter({ readMaxBytes: SESSION_MESSAGE_BYTES, acceptCompression: [] });
  sessions.rpc(Generations.method.session, (messages, context) =>
    answerSession({ app, draining }, messages, context),
  );
  const isCall = ({ method }: UniversalHandler) => method.name !== Generations.method.session.name;
  for (const handler of [...calls.handlers.filter(isCall), ...sessions.handlers])
    app.route({
      method: "POST",
      url: handler.requestPath,
      // Each call of a message has its role, and counts.
      config: { streamTokens: true, callsItself: true },
      // Before Fastify reads a body: the protocols frame it.
      onRequest: async (request, reply) => {
        void reply.hijack();
        const answered = (status: number) => requestMetrics.answered(request, status);
        void answer(handler, [request, reply], answered);
      },
      handler: () => {
        throw new RepriseError("internal", "The call was not answered.");
      },
    });
}

async function answer(
  handler: UniversalHandler,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  answered: (status: number) => void,
): Promise<void> {
  try {
    const { raw } = request;
    if (raw.headers.expect !== undefined) reply.raw.writeContinue();
    if (handler.method.methodKind === "bidi_streaming") mayStayOpen(raw);
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    const client = {
      authorization: raw.headers.authorization ?? "",
      remoteAddress: request.clientAddress ?? request.ip,
    };
    const values = createContextValues().set(CLIENT, client);
    const response = await handler(universalRequestFromNodeRequest(raw, reply.raw, undefined, values));
    answered(response.status);
    await universalResponseToNodeResponse(response, reply.raw);
  } catch {
    // The client has left: its stream is closed, or closes by this.
    reply.raw.destroy();
  }
}
