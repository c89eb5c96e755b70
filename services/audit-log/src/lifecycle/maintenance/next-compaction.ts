import type { UnixMs } from "@reprise/protocol";
import { type ArchiveFile, parseDataKey } from "@reprise/archive";

/*
 * A stream leaves a file per tenant every few seconds. Reading a generation asks every file whether it holds any of it, so few files are better;
 * but rewriting costs. While a day lasts, files of about the same size are merged once there are many of them, so everything is rewritten
 * twice at most; when it is over, what is left becomes as few files as there can be.
 */

/** Files that become one, or a few. */
export interface Compaction {
  readonly day: string;
  readonly stream: string;
  readonly files: readonly ArchiveFile[];
}

/** About how large a file becomes. */
export const TARGET_BYTES = 32 * 1_024 * 1_024;
/** Two of these fit into one: larger ones are left as they are. */
const SMALL_BYTES = TARGET_BYTES / 2;
/** Maximum size of the files that are in memory at once. */
const MOST_BYTES = 2 * TARGET_BYTES;
const FEWEST_FILES_TODAY = 32;
const FIRST_TIER_BYTES = SMALL_BYTES / FEWEST_FILES_TODAY;
/** Files this young are left alone, and so is a day: what is late still comes. */
const SETTLED_MS = 600_000;
const US = 1_000;

/** Chooses the files of a tenant to merge next; undefined if there are none. */
export function nextCompaction(files: readonly ArchiveFile[], nowMs: UnixMs): Compaction | undefined {
  const today = new Date(nowMs - SETTLED_MS).toISOString().slice(0, 10);
  const groups = new Map<string, { day: string; stream: string; files: ArchiveFile[] }>();
  for (const file of files) {
    const name = parseDataKey(file.key);
    if (!name || file.bytes >= SMALL_BYTES || file.last_at / US > nowMs - SETTLED_MS) continue;
    const { day, stream } = name;
    const tier = day < today ? "" : file.bytes < FIRST_TIER_BYTES ? "small" : "large";
    const key = `${day} ${stream} ${tier}`;
    const group = groups.get(key) ?? { day, stream, files: [] };
    group.files.push(file);
    groups.set(key, group);
  }
  for (const group of groups.values())
    if (group.files.length >= (group.day < today ? 2 : FEWEST_FILES_TODAY))
      return { ...group, files: upToMost(group.files) };
  return undefined;
}

function upToMost(files: readonly ArchiveFile[]): ArchiveFile[] {
  let bytes = 0;
  return files
    .toSorted((a, b) => a.first_at - b.first_at)
    .filter((file) => (bytes += file.bytes) <= MOST_BYTES);
}
