import { toRepriseError } from "@reprise/protocol";

/** Keeps errors, except that the broker took too long to answer: a busy machine does that, and the broker is asked again. */
export function keepErrors(errors: unknown[]): (error: unknown) => void {
  return (error) => {
    if (toRepriseError(error).code !== "broker_unavailable") errors.push(error);
  };
}
