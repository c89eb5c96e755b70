import { RepriseError } from "@reprise/protocol";

/** Creates the error for bytes of the archive that are not the ones that were written. Never quotes them. */
export function archiveCorrupt(message: string, cause?: unknown): RepriseError {
  return new RepriseError("archive_corrupt", message, { cause });
}
