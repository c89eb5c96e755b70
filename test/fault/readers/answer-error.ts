import { type ErrorBody, isErrorCode, RepriseError } from "@reprise/protocol";

/**
 * What an answer that is no stream says, or an error frame. A body that is cut short, or that is none of the platform's, is a
 * broken connection: something in between has spoken, and trying again is right.
 */
export function parseAnswerError(body: string): RepriseError {
  const { code, message } = readError(body) ?? {};
  if (isErrorCode(code)) return new RepriseError(code, String(message));
  return new RepriseError("connection_lost", "The answer is not whole.");
}

function readError(body: string): Partial<ErrorBody["error"]> | undefined {
  try {
    return (JSON.parse(body) as Partial<ErrorBody>).error;
  } catch {
    return undefined;
  }
}
