import { RepriseError } from "@reprise/protocol";

/** A log's time is over: nothing is left but a marker, or the checkpoint without its log. */
export function generationExpired(): RepriseError {
  return new RepriseError("generation_expired", "This generation is no longer kept.", { param: "id" });
}

/** Its keys are destroyed, or about to be: nothing of it is left anywhere. */
export function generationErased(): RepriseError {
  return new RepriseError("generation_erased", "This generation was erased.", { param: "id" });
}

/** True if a log could not be read because it has expired or was erased. */
export function isExpiredOrErased(error: unknown): boolean {
  if (!(error instanceof RepriseError)) return false;
  return error.code === "generation_expired" || error.code === "generation_erased";
}
