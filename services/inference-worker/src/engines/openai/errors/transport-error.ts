import { errors } from "undici";
import { EngineError, type EngineRetry } from "../../engine-error.ts";

/*
 * Failures below HTTP, in the platform's terms. The original error is not kept as the cause: some hold bytes of the
 * answer. Its code says what there is to know, and an address is nothing for a client's eyes.
 */

export interface Timeouts {
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
}

/** No answer has begun. */
export function toUnreachable(error: unknown, { connectTimeoutMs, headersTimeoutMs }: Timeouts): EngineError {
  if (error instanceof errors.HTTPParserError)
    return new EngineError("engine_failed", "The engine's answer is not HTTP.", { retry: "never" });
  const code = codeOf(error);
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return unavailable(`The engine could not be reached within ${connectTimeoutMs} ms.`, "busy");
    // It may be on its way back, and has not been asked.
    case "ECONNREFUSED":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return unavailable(`The engine could not be reached (${code}).`, "busy");
    case "UND_ERR_HEADERS_TIMEOUT":
      return unavailable(`The engine did not begin to answer within ${headersTimeoutMs} ms.`, "silent");
    default:
      return unavailable(`The engine could not be reached (${code}).`);
  }
}

/** The answer has begun and not ended. */
export function toBrokenOff(error: unknown, idleTimeoutMs: number): EngineError {
  const code = codeOf(error);
  if (code === "UND_ERR_BODY_TIMEOUT") {
    const message = `The engine sent nothing for ${idleTimeoutMs} ms.`;
    return new EngineError("engine_failed", message, { retry: "silent" });
  }
  return new EngineError("engine_failed", `The engine's answer broke off (${code}).`, { retry: "broken" });
}

function unavailable(message: string, retry: EngineRetry = "broken"): EngineError {
  // Only a server that was not reached is asked again at once.
  return new EngineError("engine_unavailable", message, { retry, isUnreachable: retry === "busy" });
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
