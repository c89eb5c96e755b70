import type { FastifyReply, FastifyRequest } from "fastify";
import { createRequestId, REQUEST_ID_HEADER } from "./request-id.ts";

/** Answers are data, for programs: no page may be made of one, and no address of one, which may hold a token, is handed on. */
const SECURITY_HEADERS = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  // Answers hold prompts, outputs and tokens. An event stream has a value of its own, which browsers and proxies know.
  "cache-control": "no-store",
};

/** A year, for this host alone: others below it may not speak TLS. */
const HSTS = { "strict-transport-security": "max-age=31536000" };

/** Puts the headers of every answer into this one. */
export function setAnswerHeaders(
  { id }: Pick<FastifyRequest, "id">,
  reply: FastifyReply,
  { isTls }: { isTls: boolean },
): void {
  void reply.headers({ ...SECURITY_HEADERS, ...(isTls && HSTS), [REQUEST_ID_HEADER]: id });
}

/** The same for an answer to what never became a request. */
export function bareAnswerHeaders(): Record<string, string> {
  return { ...SECURITY_HEADERS, [REQUEST_ID_HEADER.toLowerCase()]: createRequestId() };
}
