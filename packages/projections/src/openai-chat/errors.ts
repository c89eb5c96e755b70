import { type Failure, isErrorCode, type RepriseError, toHttpStatus, toLineJson } from "@reprise/protocol";
import { openAiErrorType, type OpenAiErrorBody, toOpenAiError } from "../openai-error.ts";
import type { Frame } from "../projection.ts";
import { inChatWords } from "./request/chat-param.ts";

/** The body of an answer that is no completion. The status is the native error's. */
export function toChatErrorBody(error: RepriseError): OpenAiErrorBody {
  return toOpenAiError(inChatWords(error));
}

/** An error in the place of what would have followed in a stream. The client takes it for the end. */
export function toChatErrorFrame(error: RepriseError): Frame {
  return { data: toLineJson(toChatErrorBody(error)) };
}

/** Converts a generation's failure to an error body. */
export function toChatFailure({ code, message }: Failure): OpenAiErrorBody {
  const type = isErrorCode(code) ? openAiErrorType(toHttpStatus(code)) : "server_error";
  return { error: { message, type, param: null, code } };
}

/** Text that the client has shown does not count any more, and chat completions have no way to say so. */
export const RESTARTED: OpenAiErrorBody = {
  error: {
    message: "The answer was begun again, and what was sent of it does not count. Ask for it again.",
    type: "server_error",
    param: null,
    code: "restarted",
  },
};
