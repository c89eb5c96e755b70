import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Archive,
  createFileStore,
  type Keyring,
  openArchive,
  openKeyring,
  parseMasterKey,
  parseNoteKey,
  parseVerifierKey,
  type VerifierKey,
  SEEN_DIR,
  seenKey,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { Command } from "commander";

/** Adds the options of every command that reads an archive. */
export function withArchive(command: Command): Command {
  return command
    .option("--archive <folder>", "default: $REPRISE_AUDIT_DIR, or audit in the data folder")
    .option("--keys <folder>", "default: $REPRISE_AUDIT_KEYS_DIR, or audit-keys in the data folder")
    .option(
      "--master-key-file <file>",
      "default: $REPRISE_AUDIT_MASTER_KEY(_FILE), or master.key in the folder of the keys",
    )
    .option("--name <name>", "of the archive; default: $REPRISE_AUDIT_NAME, or reprise");
}

export interface ArchiveValues {
  readonly archive?: string;
  readonly keys?: string;
  readonly masterKeyFile?: string;
  readonly name?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function archiveDir(values: ArchiveValues, env: Env): string {
  return values.archive ?? env["REPRISE_AUDIT_DIR"] ?? join(dataDir(env), "audit");
}

export function keysDir(values: ArchiveValues, env: Env): string {
  return values.keys ?? env["REPRISE_AUDIT_KEYS_DIR"] ?? join(dataDir(env), "audit-keys");
}

export function signingKeyFile(values: ArchiveValues, env: Env): string {
  return env["REPRISE_AUDIT_SIGNING_KEY_FILE"] ?? join(keysDir(values, env), "signing.key");
}

export function archiveName(values: ArchiveValues, env: Env): string {
  return values.name ?? env["REPRISE_AUDIT_NAME"] ?? "reprise";
}

/**
 * Opens the copy of an archive to be read.
 * @throws RepriseError `archive_corrupt`, `archive_unavailable`
 */
export function openArchiveCopy(values: ArchiveValues, env: Env): Promise<Archive> {
  return openArchive({
    store: createFileStore(archiveDir(values, env)),
    name: archiveName(values, env),
  });
}

/** @throws RepriseError `archive_unavailable` when there are no keys, `config_invalid` for a key that is none, or not theirs */
export async function openKeyringCopy(values: ArchiveValues, env: Env): Promise<Keyring> {
  const keyring = await findKeyringCopy(values, env);
  if (keyring) return keyring;
  throw new RepriseError("archive_unavailable", `There is no master key for ${keysDir(values, env)}.`);
}

/** Undefined when there is no master key. Nothing is made that is missing. @throws RepriseError `config_invalid` */
export async function findKeyringCopy(values: ArchiveValues, env: Env): Promise<Keyring | undefined> {
  const dir = keysDir(values, env);
  const named = values.masterKeyFile;
  const file = named ?? env["REPRISE_AUDIT_MASTER_KEY_FILE"] ?? join(dir, "master.key");
  const given = named === undefined ? env["REPRISE_AUDIT_MASTER_KEY"] : undefined;
  const text = given ?? (await readFile(file, "utf8").catch(() => undefined));
  if (text === undefined) return undefined;
  return openKeyring({ store: createFileStore(join(dir, "wrapped")), masterKey: parseMasterKey(text) });
}

/** Those that `--vkey` names; else the archive's own, where its signing key lies. @throws RepriseError `config_invalid` */
export async function verifierKeys(
  values: ArchiveValues & { readonly vkey?: readonly string[] | undefined },
  env: Env,
): Promise<VerifierKey[]> {
  if (values.vkey) return values.vkey.map(parseVerifierKey);
  const own = await readFile(signingKeyFile(values, env), "utf8").catch(() => undefined);
  return own === undefined ? [] : [parseNoteKey(own)];
}

/** The copy in the witness of `npm start`: its key, and its memory. */
export interface WitnessCopy {
  readonly key: VerifierKey;
  /** The newest checkpoint of a tree that it has cosigned, and where that lies; undefined when it has seen none. */
  newest(origin: string): Promise<{ where: string; note: string } | undefined>;
}

/** Undefined when there is no witness in the data folder. @throws RepriseError `config_invalid` */
export async function findWitnessCopy(env: Env): Promise<WitnessCopy | undefined> {
  const dir = env["REPRISE_WITNESS_DIR"] ?? join(dataDir(env), "witness");
  const key = await readFile(join(dir, "witness.key"), "utf8").catch(() => undefined);
  if (key === undefined) return undefined;
  return {
    key: parseNoteKey(key),
    async newest(origin) {
      const where = join(dir, SEEN_DIR, seenKey(origin));
      const note = await readFile(where, "utf8").catch(() => undefined);
      return note === undefined ? undefined : { where, note };
    },
  };
}

function dataDir(env: Env): string {
  return env["REPRISE_DATA_DIR"] ?? ".reprise";
}
