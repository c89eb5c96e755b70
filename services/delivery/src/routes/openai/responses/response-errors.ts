import { toResponsesErrorBody, toResponsesErrorFrame } from "@reprise/projections";
import { type RepriseError, toErrorBody } from "@reprise/protocol";

/** For the config of a route: its errors in the form of OpenAI's API, with what the native form has beside. */
export const RESPONSE_ERRORS = {
  errors: (error: RepriseError): object => ({
    error: { ...toErrorBody(error).error, ...toResponsesErrorBody(error).error },
  }),
};

export const toErrorFrames = (error: RepriseError) => [toResponsesErrorFrame(error)];
