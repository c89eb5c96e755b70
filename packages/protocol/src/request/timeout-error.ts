import { RepriseError } from "../errors/reprise-error.ts";
import type { TimeoutName } from "./timeouts.ts";

const WHAT: Readonly<Record<TimeoutName, string>> = {
  queue: "No worker has begun with the generation",
  first_token: "The engine has not said its first token",
  between_tokens: "The engine has not said its next token",
  total: "The generation has not ended",
  tool_result: "The tool calls have not been answered",
};

/** Returns the error of a generation when one of its policy's timeouts expires: `queue_timeout`, `first_token_timeout`, … */
export function timeoutError(name: TimeoutName, afterMs: number): RepriseError {
  return new RepriseError(`${name}_timeout`, `${WHAT[name]} within ${afterMs} ms.`);
}
