import { RepriseError } from "@reprise/protocol";

/** What is thrown when bytes of the archive are not what was written. Never quotes them. */
export function archiveCorrupt(message: string, cause?: unknown): RepriseError {
  return new RepriseError("archive_corrupt", message, { cause });
}
