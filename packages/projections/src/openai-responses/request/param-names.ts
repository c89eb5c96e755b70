import type { RepriseError } from "@reprise/protocol";
import { renamedError } from "../../renamed-error.ts";

/** Native fields that OpenAI's API calls otherwise. */
const NAMES: readonly (readonly [native: string, name: string])[] = [
  ["response_format", "text.format"],
  ["verbosity", "text.verbosity"],
  ["logprobs", "top_logprobs"],
  ["previous_generation", "previous_response_id"],
  ["subject", "safety_identifier"],
  ["end_user", "user"],
];

/**
 * An error about a native request, with its field as the client of this protocol has called it.
 * @param origins of the request's messages: which item each begins with. Undefined: an item's place is that of the client, or not known better
 */
export function inResponsesWords(error: RepriseError, origins?: readonly number[]): RepriseError {
  return renamedError(error, (param) => rename(param, origins));
}

function rename(param: string, origins: readonly number[] | undefined): string {
  const index = /^input\.(\d+)(?=\.|$)/.exec(param);
  if (index && origins) {
    const origin = origins[Number(index[1])];
    return origin === undefined ? "input" : `input.${origin}${param.slice(index[0].length)}`;
  }
  const found = NAMES.find(([native]) => param === native || param.startsWith(`${native}.`));
  return found ? `${found[1]}${param.slice(found[0].length)}` : param;
}
