/** On a service's answer to a call that failed: an error body, as of the HTTP API. */
export const CALL_ERROR_HEADER = "Reprise-Error";
