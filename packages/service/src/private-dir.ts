import { chmod, mkdir, stat } from "node:fs/promises";

const OWNER_ONLY = 0o700;

/**
 * Makes a folder that nobody but its owner can enter, which keeps everything in it from other users whatever its own mode is. A
 * folder that is there already is closed to others too.
 * @throws what the system says when it can't be made, or belongs to another user and is open to others
 */
export async function ensurePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: OWNER_ONLY });
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, OWNER_ONLY);
}
