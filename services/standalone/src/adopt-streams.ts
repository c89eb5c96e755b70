import { rename } from "node:fs/promises";
import { join } from "node:path";
import { PLATFORM_ACCOUNT } from "@reprise/broker";

/** nats-server's account of users that are in no other. */
const GLOBAL_ACCOUNT = "$G";

/**
 * Gives the platform's account the streams of a data folder whose server had no accounts. nats-server keeps them under the account's name.
 * The server must not run.
 */
export async function adoptStreams(storeDir: string): Promise<void> {
  const folderOf = (account: string) => join(storeDir, "jetstream", account);
  try {
    await rename(folderOf(GLOBAL_ACCOUNT), folderOf(PLATFORM_ACCOUNT));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // There is none, or the account has streams of its own.
    if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}
