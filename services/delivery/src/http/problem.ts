import { Readable } from "node:stream";
import { LIMITS, RepriseError, toHttpStatus, toRepriseError } from "@reprise/protocol";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { errorBodyOf } from "./error-body.ts";

/** Fastify's own errors in our catalogue; they carry closed codes, and their messages are written for Fastify's users. */
export function toProblem(thrown: unknown, request?: FastifyRequest): RepriseError {
  if (thrown instanceof RepriseError) return thrown;
  switch ((thrown as Partial<FastifyError> | undefined)?.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new RepriseError("body_too_large", `The body is larger than ${LIMITS.bodyBytes} bytes.`, {
        param: "body",
      });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new RepriseError(
        "unsupported_media_type",
        request?.routeOptions.config.streamsBody
          ? "The Content-Type of a blob must be a media type, such as image/png."
          : "The Content-Type of this call's body must be application/json.",
        { param: "Content-Type" },
      );
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
    case "FST_ERR_BAD_URL":
      return new RepriseError("invalid_request", "The request is malformed.");
    default:
      return toRepriseError(thrown);
  }
}

/**
 * Answers with an error: its status, its body, and when to come back if that makes sense.
 * @param rest resolves when the rest of the request has been dealt with; then the connection is closed
 */
export async function sendProblem(
  reply: FastifyReply,
  error: RepriseError,
  rest?: Promise<void>,
): Promise<void> {
  if (error.code === "unauthenticated") void reply.header("www-authenticate", "Bearer");
  if (error.retryAfterMs !== undefined)
    void reply.header("retry-after", Math.ceil(error.retryAfterMs / 1_000));
  void reply.code(toHttpStatus(error.code));
  const body = JSON.stringify(errorBodyOf(reply.request, error));
  if (rest) await closeAfter(reply, body, rest);
  // The route may have named the type of what it could not send.
  else await reply.type(JSON_TYPE).send(body);
}

/** Node closes a connection as soon as its last answer ends. The client has this one whole before it ends. */
async function closeAfter(reply: FastifyReply, body: string, rest: Promise<void>): Promise<void> {
  const answer = async function* () {
    yield body;
    await rest;
  };
  void reply
    .type(JSON_TYPE)
    .headers({ ...closing(reply.request), "content-length": Buffer.byteLength(body) });
  await reply.send(Readable.from(answer()));
}

/** HTTP/2 has no such header: a request ends without its connection. */
export function closing({ raw }: FastifyRequest): { connection?: string } {
  return raw.httpVersionMajor === 1 ? { connection: "close" } : {};
}

const JSON_TYPE = "application/json; charset=utf-8";
