import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { RepriseError } from "@reprise/protocol";
import { makeDurableFolder, syncFolder } from "../store/durable-folders.ts";
import { hasFileCode } from "../store/file-error.ts";
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
  // Not a part of the pool that Node shares among small buffers.
  if (bytes?.length === KEY_BYTES) return Uint8Array.from(bytes);
  throw new RepriseError("config_invalid", `A master key is ${KEY_BYTES} bytes as base64 or hex.`);
}

/**
 * Reads a secret from a file that only its owner can read; makes the file with what `make` gives when it is missing. Of several that
 * make it at once one wins, and all have the same. It is on the disk before it is returned.
 * @throws RepriseError `config_invalid`
 */
export async function openSecretFile(path: string, make: () => string): Promise<string> {
  try {
    return (await readSecret(path)) ?? (await makeSecret(path, make()));
  } catch (cause) {
    if (cause instanceof RepriseError) throw cause;
    throw new RepriseError("config_invalid", `${path} can't be used: ${(cause as Error).message}`, {
      param: path,
      cause,
    });
  }
}

/** The master key in a file, which is made when it is missing. @throws RepriseError `config_invalid` */
export async function openMasterKeyFile(path: string): Promise<Uint8Array> {
  return parseMasterKey(await openSecretFile(path, () => randomBytes(KEY_BYTES).toString("base64")));
}

async function readSecret(path: string): Promise<string | undefined> {
  let opened: FileHandle;
  try {
    opened = await open(path, "r");
  } catch (error) {
    if (hasFileCode(error, "ENOENT")) return undefined;
    throw error;
  }
  await using file = opened;
  const { mode } = await file.stat();
  if ((mode & OTHERS) !== 0)
    throw new RepriseError("config_invalid", `${path} can be read or changed by others: chmod 600 it.`, {
      param: path,
    });
  return (await file.readFile("utf8")).trim();
}

async function makeSecret(path: string, secret: string): Promise<string> {
  const folder = dirname(path);
  await makeDurableFolder(folder);
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(temporary, `${secret}\n`, { mode: OWNER_ONLY, flush: true });
    await link(temporary, path);
  } catch (error) {
    if (!hasFileCode(error, "EEXIST")) throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(folder);
  return (await readSecret(path)) ?? secret;
}
