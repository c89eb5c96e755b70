import { RepriseError } from "@reprise/protocol";
import { errors } from "undici";

/*
 * What goes wrong below HTTP, in the platform's terms. The original error is not kept as the cause: some hold bytes of the
 * answer. Its code says what there is to know, and an address is nothing for a client's eyes.
 */

export interface Timeouts {
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
}

/** No answer has begun. */
export function toUnreachable(
  error: unknown,
  { connectTimeoutMs, headersTimeoutMs }: Timeouts,
): RepriseError {
  if (error instanceof errors.HTTPParserError)
    return new RepriseError("engine_failed", "The engine's answer is not HTTP.");
  const code = codeOf(error);
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return new RepriseError(
        "engine_unavailable",
        `The engine could not be reached within ${connectTimeoutMs} ms.`,
      );
    case "UND_ERR_HEADERS_TIMEOUT":
      return new RepriseError(
        "engine_unavailable",
        `The engine did not begin to answer within ${headersTimeoutMs} ms.`,
      );
    default:
      return new RepriseError("engine_unavailable", `The engine could not be reached (${code}).`);
  }
}

/** The answer has begun and not ended. */
export function toBrokenOff(error: unknown, idleTimeoutMs: number): RepriseError {
  const code = codeOf(error);
  if (code === "UND_ERR_BODY_TIMEOUT")
    return new RepriseError("engine_failed", `The engine sent nothing for ${idleTimeoutMs} ms.`);
  return new RepriseError("engine_failed", `The engine's answer broke off (${code}).`);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
