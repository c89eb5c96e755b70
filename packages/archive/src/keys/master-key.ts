import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { RepriseError } from "@reprise/protocol";
import { KEY_BYTES } from "./wrap.ts";

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

/**
 * The key that wraps all others: 32 bytes as base64 or hex.
 * @throws RepriseError `config_invalid`, which does not repeat the text
 */
export function parseMasterKey(text: string): Uint8Array {
  const trimmed = text.trim();
  const bytes = /^[0-9a-fA-F]{64}$/.test(trimmed)
    ? Buffer.from(trimmed, "hex")
    : /^[A-Za-z0-9+/]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, "base64")
      : undefined;
  if (bytes?.length === KEY_BYTES) return bytes;
  throw new RepriseError("config_invalid", `A master key is ${KEY_BYTES} bytes as base64 or hex.`);
}

/**
 * Reads a secret from a file that nobody but its owner can read; makes the file with what `make` gives when it is missing. Of several that
 * make it at once one wins, and all have the same.
 * @throws RepriseError `config_invalid`
 */
export async function openSecretFile(path: string, make: () => string): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${randomBytes(6).toString("hex")}`;
    if (!(await stat(path).catch(() => undefined))) {
      await writeFile(temporary, `${make()}\n`, { mode: OWNER_ONLY, flush: true });
      await chmod(temporary, OWNER_ONLY);
      await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      await rm(temporary);
    }
    const { mode } = await stat(path);
    if ((mode & OTHERS) !== 0)
      throw new RepriseError("config_invalid", `${path} can be read by others: chmod 600 it.`, {
        param: path,
      });
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    if (cause instanceof RepriseError) throw cause;
    throw new RepriseError("config_invalid", `${path} can't be used: ${(cause as Error).message}`, {
      param: path,
      cause,
    });
  }
}

/** @throws RepriseError `config_invalid` */
export async function openMasterKeyFile(path: string): Promise<Uint8Array> {
  return parseMasterKey(await openSecretFile(path, () => randomBytes(KEY_BYTES).toString("base64")));
}
