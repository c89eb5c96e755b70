import type { RepriseError } from "@reprise/protocol";
import { renamedError } from "../../renamed-error.ts";

/** Fields of a native request, and what OpenAI's API calls them. The first that matches counts. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  // What a part is made of differs by its kind: its place says enough.
  [/^input\.(\d+)\.content\.(\d+)\.(?:url|blob|name|detail)$/, "messages.$1.content.$2"],
  [/^input\.(\d+)\.tool_calls\.(\d+)\.call_id$/, "messages.$1.tool_calls.$2.id"],
  [/^input\.(\d+)\.tool_calls\.(\d+)\.provider_state$/, "messages.$1.tool_calls.$2.extra_content"],
  [/^input\.(\d+)\.tool_calls\.(\d+)\.(name|arguments)$/, "messages.$1.tool_calls.$2.function.$3"],
  [/^input\.(\d+)\.call_id$/, "messages.$1.tool_call_id"],
  [/^input\.(\d+)\.output$/, "messages.$1.content"],
  [/^input\.(\d+)\.reasoning$/, "messages.$1.reasoning_content"],
  [/^input\b/, "messages"],
  [/^max_output_tokens$/, "max_completion_tokens"],
  [/^tools\.(\d+)\.(.+)$/, "tools.$1.function.$2"],
  [/^tool_choice\.name$/, "tool_choice.function.name"],
  [/^response_format\.(name|description|schema|strict)\b/, "response_format.json_schema.$1"],
  [/^reasoning\.effort$/, "reasoning_effort"],
  [/^logprobs$/, "top_logprobs"],
  [/^end_user$/, "user"],
  [/^subject$/, "safety_identifier"],
];

/** OpenAI's name for a field of the native request. */
function toChatParam(param: string): string {
  const found = NAMES.find(([pattern]) => pattern.test(param));
  return found ? param.replace(found[0], found[1]) : param;
}

/** The same error, about the field that the client has sent. */
export function inChatWords(error: RepriseError): RepriseError {
  return renamedError(error, toChatParam);
}
