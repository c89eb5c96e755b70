import { RepriseError } from "@reprise/protocol";

/** No engine's failure: the broker, or the archive, does not give or take what a turn needs. It may in a moment, or another worker's. */
export function isStoreAway(error: unknown): error is RepriseError {
  return (
    error instanceof RepriseError &&
    (error.code === "broker_unavailable" || error.code === "archive_unavailable")
  );
}
