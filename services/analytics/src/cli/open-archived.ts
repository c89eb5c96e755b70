import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Archive,
  type BlobStore,
  createFileStore,
  createS3Store,
  type Keyring,
  openArchive,
  openKeyring,
  parseMasterKey,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { localFiles, openFetchedFiles } from "@reprise/facts/tables";
import type { Command } from "commander";
import type { CommandEnvironment } from "../config.ts";
import { ArchivedGenerations } from "../rebuild/archived-generations.ts";

/** Adds the options of a command that reads the archive. */
export function withArchive(command: Command): Command {
  return command
    .option(
      "--archive <folder>",
      "default: $REPRISE_AUDIT_S3_URL, $REPRISE_AUDIT_DIR, or audit in the data folder",
    )
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

/** Bytes of archive files that are fetched from a bucket at a time. */
const MAX_FETCHED_BYTES = 4 * 1_024 * 1_024 * 1_024;

/** Opens the archive and its keys for reading. @throws RepriseError `config_invalid`, `archive_unavailable`, `archive_corrupt` */
export async function openArchived(
  values: ArchiveValues,
  env: CommandEnvironment,
  stack: AsyncDisposableStack,
): Promise<{ readonly archive: Archive; readonly archived: ArchivedGenerations }> {
  const url = values.archive === undefined ? env.REPRISE_AUDIT_S3_URL : undefined;
  const dir = values.archive ?? env.REPRISE_AUDIT_DIR ?? join(env.REPRISE_DATA_DIR, "audit");
  const store = readOnly(url === undefined ? createFileStore(dir) : openS3(url, env));
  const keyring = await openKeys(values, env);
  const archive = await openArchive({ store, name: values.name ?? env.REPRISE_AUDIT_NAME });
  if (archive.state.next === 0)
    throw new RepriseError("archive_unavailable", `${url ?? dir} has no archive.`);
  const files = url === undefined ? localFiles(dir) : await fetchedFiles(store, stack);
  return { archive, archived: stack.use(new ArchivedGenerations({ archive, keyring, files })) };
}

async function fetchedFiles(store: BlobStore, stack: AsyncDisposableStack) {
  const cache = await mkdtemp(join(tmpdir(), "reprise-usage-"));
  stack.defer(() => rm(cache, { recursive: true, force: true }));
  return openFetchedFiles({ store, dir: join(cache, "files"), maxBytes: MAX_FETCHED_BYTES });
}

function openS3(url: string, env: CommandEnvironment): BlobStore {
  const { REPRISE_AUDIT_S3_KEY_ID: keyId, REPRISE_AUDIT_S3_SECRET: secret } = env;
  if (keyId && secret) return createS3Store({ url, region: env.REPRISE_AUDIT_S3_REGION, keyId, secret });
  throw new RepriseError(
    "config_invalid",
    "REPRISE_AUDIT_S3_URL needs REPRISE_AUDIT_S3_KEY_ID and REPRISE_AUDIT_S3_SECRET.",
  );
}

async function openKeys(values: ArchiveValues, env: CommandEnvironment): Promise<Keyring> {
  const dir = values.keys ?? env.REPRISE_AUDIT_KEYS_DIR ?? join(env.REPRISE_DATA_DIR, "audit-keys");
  const named = values.masterKeyFile;
  const given = named === undefined ? env.REPRISE_AUDIT_MASTER_KEY : undefined;
  const file = named ?? env.REPRISE_AUDIT_MASTER_KEY_FILE ?? join(dir, "master.key");
  const text = given ?? (await readFile(file, "utf8").catch(() => undefined));
  if (text === undefined) throw new RepriseError("archive_unavailable", `${dir} has no master key.`);
  return openKeyring({
    store: readOnly(createFileStore(join(dir, "wrapped"))),
    masterKey: parseMasterKey(text),
  });
}

function readOnly(store: BlobStore): BlobStore {
  const refuse = async (key: string): Promise<never> => {
    throw new RepriseError(
      "archive_unavailable",
      `${key} is missing, and the archive is opened for reading.`,
    );
  };
  return {
    get: (key, range) => store.get(key, range),
    list: (prefix, after) => store.list(prefix, after),
    put: refuse,
    create: refuse,
    delete: refuse,
  };
}
