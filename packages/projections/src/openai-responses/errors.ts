import { type RepriseError, toErrorBody, toLineJson } from "@reprise/protocol";
import { type OpenAiErrorBody, toOpenAiError } from "../openai-error.ts";
import type { Frame } from "../projection.ts";
import { inResponsesWords } from "./request/param-names.ts";

/** The body of an answer that is no response. The status is the native error's. */
export function toResponsesErrorBody(error: RepriseError): OpenAiErrorBody {
  return toOpenAiError(inResponsesWords(error));
}

/** An error in place of the next event of a stream. Its number is not a position: no event of the log follows it. */
export function toResponsesErrorFrame(error: RepriseError): Frame {
  const { code, message, param } = toErrorBody(error).error;
  const data = { type: "error", sequence_number: 0, code, message, param: param ?? null };
  return { event: "error", data: toLineJson(data) };
}
