import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { RepriseError } from "@reprise/protocol";
import type { StreamImage } from "./stream-image.ts";

/*
 * A backup is a folder: a file per stream as the server has copied it out, and `manifest.json`, which names each with its length and SHA-256. The manifest is
 * written last and put in place as a whole, so a folder without one is a backup that was interrupted. Texts and the private signing keys
 * are in it: all of it is for its owner alone.
 */

export interface BackedUpStream extends StreamImage {
  readonly file: string;
  /** When the stream was first made. RFC 3339. */
  readonly made_at: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface BackupManifest {
  readonly format: 1;
  /** When the first stream was copied, and when the last one was whole. RFC 3339. */
  readonly begun_at: string;
  readonly done_at: string;
  /** Version of the nats-server. */
  readonly server: string;
  /** Over how many streams logs are spread. */
  readonly shards: number;
  /** In the order in which they were copied. */
  readonly streams: readonly BackedUpStream[];
}

const MANIFEST = "manifest.json";
const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const PART_BYTES = 128 * 1_024;

/** Makes the folder of a new backup. @throws RepriseError `config_invalid` when there is something in it */
export async function makeBackupFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: OWNER_ONLY_FOLDER });
  if ((await readdir(dir)).length > 0)
    throw invalid(dir, `${dir} is not empty: a backup needs a folder of its own.`);
}

/** A file that counts what is written to it. It is on the disk when `done` resolves. */
export async function openImageFile(dir: string, stream: string) {
  const file = `${stream}.snapshot`;
  const handle = await open(join(dir, file), "wx", OWNER_ONLY);
  const digest = createHash("sha256");
  let bytes = 0;
  return {
    async write(part: Uint8Array): Promise<void> {
      digest.update(part);
      bytes += part.length;
      await handle.writeFile(part);
    },
    async done(): Promise<{ file: string; bytes: number; sha256: string }> {
      await handle.sync();
      return { file, bytes, sha256: digest.digest("hex") };
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Makes the backup whole. */
export async function writeManifest(dir: string, manifest: BackupManifest): Promise<void> {
  const draft = join(dir, `${MANIFEST}.draft`);
  {
    await using handle = await open(draft, "w", OWNER_ONLY);
    await handle.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await handle.sync();
  }
  await rename(draft, join(dir, MANIFEST));
  await using folder: FileHandle = await open(dir, "r");
  await folder.sync();
}

/**
 * The manifest of a backup whose files are as they were written.
 * @throws RepriseError `config_invalid` for a backup that was interrupted or changed, with the file
 */
export async function checkBackup(dir: string): Promise<BackupManifest> {
  const manifest = await readManifest(dir);
  for (const { file, bytes, sha256 } of manifest.streams) {
    const path = join(dir, file);
    const found = await stat(path).catch(() => undefined);
    if (!found) throw invalid(dir, `${path} is missing: the backup can't be restored.`);
    if (found.size !== bytes)
      throw invalid(dir, `${path} has ${found.size} bytes, and had ${bytes}: the backup can't be restored.`);
    const digest = createHash("sha256");
    for await (const part of createReadStream(path)) digest.update(part as Buffer);
    if (digest.digest("hex") !== sha256)
      throw invalid(dir, `${path} is not as it was written: the backup can't be restored.`);
  }
  return manifest;
}

/** The bytes of a copy, in parts that the server takes. */
export function readImageFile(dir: string, { file }: BackedUpStream): AsyncIterable<Uint8Array> {
  return createReadStream(join(dir, file), { highWaterMark: PART_BYTES }) as AsyncIterable<Uint8Array>;
}

async function readManifest(dir: string): Promise<BackupManifest> {
  const path = join(dir, MANIFEST);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const what = `${path} can't be read: ${dir} is no backup, or one that was interrupted.`;
    throw invalid(dir, what, cause);
  }
  let manifest: Partial<BackupManifest> & { readonly format?: unknown };
  try {
    manifest = JSON.parse(text) as typeof manifest;
  } catch (cause) {
    throw invalid(dir, `${path} is not JSON: the backup can't be restored.`, cause);
  }
  if (manifest.format !== 1)
    throw invalid(dir, `${path} has the format ${String(manifest.format)}, and this version reads 1.`);
  return manifest as BackupManifest;
}

function invalid(dir: string, message: string, cause?: unknown): RepriseError {
  return new RepriseError("config_invalid", message, { param: dir, cause });
}
