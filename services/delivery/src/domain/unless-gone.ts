import { isExpiredOrErased } from "@reprise/stream";
import { RepriseError } from "@reprise/protocol";

/** For a generation that a client's own name leads to: undefined where it is out of the caller's reach or no longer kept. Throws any other error. */
export function unlessGone(error: unknown): undefined {
  const isUnknown = error instanceof RepriseError && error.code === "generation_not_found";
  if (isUnknown || isExpiredOrErased(error)) return undefined;
  throw error;
}
