import { RepriseError } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/*
 * The headers of resumable uploads, as draft-ietf-httpbis-resumable-upload has them. Booleans and integers are those of RFC 9651.
 */

/** The media type of a piece of an upload. */
export const PARTIAL_UPLOAD = "application/partial-upload";
/** Of the draft that this speaks, where a client asks for an interim answer. */
export const INTEROP_VERSION = "8";

const INTEGER = /^[0-9]{1,15}$/;

/** Whether this request brings the rest of the content; undefined where the client does not speak of resuming. */
export function uploadComplete(request: FastifyRequest): boolean | undefined {
  const value = headerOf(request, "upload-complete");
  if (value === undefined) return undefined;
  if (value === "?1") return true;
  if (value === "?0") return false;
  throw new RepriseError("invalid_request", "Upload-Complete is ?1 or ?0.", { param: "Upload-Complete" });
}

export function uploadLength(request: FastifyRequest): number | undefined {
  return integerOf(request, "Upload-Length");
}

/** @throws RepriseError `invalid_request` where it is absent */
export function uploadOffset(request: FastifyRequest): number {
  const offset = integerOf(request, "Upload-Offset");
  if (offset !== undefined) return offset;
  throw new RepriseError("invalid_request", "A request that goes on with an upload needs Upload-Offset.", {
    param: "Upload-Offset",
  });
}

/** How long the request's body is, where it says so. */
export function contentLength(request: FastifyRequest): number | undefined {
  const value = headerOf(request, "content-length");
  return value === undefined || headerOf(request, "transfer-encoding") !== undefined
    ? undefined
    : Number(value);
}

/** `?1` or `?0`. */
export function toBoolean(value: boolean): string {
  return value ? "?1" : "?0";
}

function integerOf(request: FastifyRequest, name: string): number | undefined {
  const value = headerOf(request, name.toLowerCase());
  if (value === undefined) return undefined;
  if (INTEGER.test(value)) return Number(value);
  throw new RepriseError("invalid_request", `${name} is a whole number of bytes.`, { param: name });
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
