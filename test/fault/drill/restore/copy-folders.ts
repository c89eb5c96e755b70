import { access, cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/*
 * The archive, its keys and analytics' rows, copied while services write. What refers to something is copied before what it refers to, which was there first and is never
 * changed: so a commit that is in the copy has its files there, and a file its keys.
 */
const ORDER = ["audit/_log", "audit", "audit-keys", "analytics/generations", "analytics"] as const;

const POLL_MS = 50;

/** Resolves when the audit log and analytics have each made a commit. */
export async function untilFoldersThere(dir: string): Promise<void> {
  const isThere = (folder: string) =>
    access(join(dir, folder)).then(
      () => true,
      () => false,
    );
  while (!(await Promise.all(ORDER.map(isThere))).every(Boolean)) await delay(POLL_MS);
}

/** Copies a data folder into an empty one. Existing files of the copy stay as they are. */
export async function copyFolders(from: string, to: string): Promise<void> {
  for (const folder of ORDER)
    await cp(join(from, folder), join(to, folder), {
      recursive: true,
      force: false,
      preserveTimestamps: true,
      filter: isNoDraft,
    });
}

/** Files under way lie in a folder of their own. */
function isNoDraft(path: string): boolean {
  return basename(path) !== ".tmp";
}
