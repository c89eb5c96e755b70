import { toChatErrorBody } from "@reprise/projections";
import { type RepriseError, toErrorBody } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The body of an answer that is an error, in the form of the route's protocol. Default: that of PROTOCOL.md §2.3. */
    errors?: ErrorToBody;
  }
}

/** An error as the JSON value that clients of a protocol read. */
export type ErrorToBody = (error: RepriseError) => object;

/** Forms of errors by the beginning of a path. */
const FORMS: readonly (readonly [path: string, ErrorToBody])[] = [
  ["/v1/chat", toOpenAiErrorBody],
  ["/v1/responses", toOpenAiErrorBody],
  ["/v1/models", toOpenAiErrorBody],
];

/** The native body with what clients of OpenAI's API read beside, for all paths of that API. */
export function toOpenAiErrorBody(error: RepriseError): object {
  return { error: { ...toErrorBody(error).error, ...toChatErrorBody(error).error } };
}

/** The body of an answer to a request that is an error. A client of OpenAI's API may have called a path that has no route. */
export function errorBodyOf(
  { url, routeOptions }: Pick<FastifyRequest, "url" | "routeOptions">,
  error: RepriseError,
): object {
  const [path = ""] = url.split("?", 1);
  const isBelow = (prefix: string) => path === prefix || path.startsWith(`${prefix}/`);
  const ofPath = FORMS.find(([prefix]) => isBelow(prefix))?.[1];
  const fallback = routeOptions.url === undefined ? toOpenAiErrorBody : toErrorBody;
  return (routeOptions.config.errors ?? ofPath ?? fallback)(error);
}
