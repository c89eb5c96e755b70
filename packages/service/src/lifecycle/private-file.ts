import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

const OWNER_ONLY = 0o600;

/**
 * Writes a file that only its owner can read, in one step: a reader, after a crash too, finds the old file or the new one. What a crash leaves of a
 * draft is replaced by the next one. For one writer at a time.
 * @throws what the system says
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  // A draft that is there may have another mode.
  await rm(draft, { force: true });
  await using file = await open(draft, "wx", OWNER_ONLY);
  await file.writeFile(text);
  await file.sync();
  await rename(draft, path);
  await using dir = await open(dirname(path));
  await dir.sync();
}

/**
 * What a file holds, without white space around it; where there is no file, a new secret that is stored there.
 * @throws what the system says
 */
export async function keepSecret(path: string, create: () => string): Promise<string> {
  const kept = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (kept !== undefined) return kept.trim();
  const secret = create();
  await writePrivateFile(path, `${secret}\n`);
  return secret;
}
