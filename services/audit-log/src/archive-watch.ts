import { toRepriseError } from "@reprise/protocol";
import type { DependencyWatches } from "@reprise/runtime";

/** An archive of which no failure is reported for so long is back, where there is nothing to commit. Longer than a request to a store may hang. */
const QUIET_MS = 60_000;

export interface ArchiveWatch {
  /** Called for everything that fails; only `archive_unavailable` counts. */
  failed(error: unknown): void;
  /** Called for every commit. */
  worked(): void;
  /** Why the archive takes no commits, for readiness: empty when it does. */
  because(): readonly string[];
}

/**
 * Watches if the archive takes commits. A failed commit is tried again every half second, until it has succeeded, so an archive that stays
 * away is reported again and again.
 */
export function watchArchive(watches: DependencyWatches): ArchiveWatch {
  const watch = watches.add({
    name: "archive",
    gone: "the archive takes no commits",
    back: "the archive takes commits again",
    reports: "each",
    quietMs: QUIET_MS,
    explains: "archive_unavailable",
  });
  return {
    failed(error) {
      const { code, message } = toRepriseError(error);
      if (code === "archive_unavailable") watch.failed(message);
    },
    worked: () => watch.worked(),
    because: () => (watch.because === undefined ? [] : [`the archive takes no commits: ${watch.because}`]),
  };
}
