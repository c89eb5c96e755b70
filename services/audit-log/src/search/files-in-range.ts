import { type ArchiveFile, decodeFingerprints } from "@reprise/archive";

/** When generations were created, microseconds since 1970: `fromUs` belongs to it, `toUs` does not. */
export interface TimeRange {
  readonly fromUs: number;
  readonly toUs: number;
}

/**
 * Selects the files that describe all generations created in a range: those with messages of that time, and later ones that may hold
 * more messages of these generations.
 */
export function filesInRange(files: readonly ArchiveFile[], { fromUs, toUs }: TimeRange): ArchiveFile[] {
  const [within, later]: [ArchiveFile[], ArchiveFile[]] = [[], []];
  for (const file of files) {
    if (file.last_at < fromUs) continue;
    (file.first_at < toUs ? within : later).push(file);
  }
  if (later.length === 0) return within;
  const known = new Set<number>();
  for (const { generations } of within) for (const one of decodeFingerprints(generations)) known.add(one);
  const goesOn = ({ generations }: ArchiveFile) =>
    decodeFingerprints(generations).some((one) => known.has(one));
  return [...within, ...later.filter(goesOn)];
}
