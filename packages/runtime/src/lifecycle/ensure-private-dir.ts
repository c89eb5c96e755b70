import { chmod, mkdir, stat } from "node:fs/promises";
import { RepriseError } from "@reprise/protocol";

const OWNER_ONLY = 0o700;
const OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Makes a folder that only its owner can enter, which keeps everything in it from other users, with any mode of its own. A folder that is
 * there already is closed to others too, unless it is meant for all users, as /tmp is.
 * @throws RepriseError `config_invalid` for a folder with the sticky bit; what the system says when it can't be made, or belongs to another user and is open to others
 */
export async function ensurePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: OWNER_ONLY });
  const { mode } = await stat(path);
  if ((mode & STICKY) !== 0)
    throw new RepriseError("config_invalid", `${path} is a folder for all users; name one within it.`);
  if ((mode & OTHERS) !== 0) await chmod(path, OWNER_ONLY);
}
