import { RepriseError } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/** Refuses requests that HTTP tells a server to refuse, but that Node and Fastify accept or drop without an answer. */
export function assertPlainRequest({ headers, raw }: FastifyRequest): void {
  const { host, expect, "content-encoding": encoding, "transfer-encoding": coding = "chunked" } = headers;
  if (raw.httpVersion === "1.1" && host === undefined)
    throw new RepriseError("invalid_request", "A request needs the header Host.", { param: "Host" });
  if (expect !== undefined && expect.toLowerCase() !== "100-continue")
    throw new RepriseError("invalid_request", "Expect: only 100-continue is known here.", {
      param: "Expect",
    });
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") throw compressed("Content-Encoding");
  if (coding.toLowerCase() !== "chunked") throw compressed("Transfer-Encoding");
}

function compressed(param: string): RepriseError {
  return new RepriseError("unsupported_media_type", "A body must not be compressed.", { param });
}
