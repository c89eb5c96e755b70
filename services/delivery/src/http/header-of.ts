import type { FastifyRequest } from "fastify";

/** The value of a header; the first one where it was sent several times. */
export function headerOf({ headers }: Pick<FastifyRequest, "headers">, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
