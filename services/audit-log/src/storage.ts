import { join } from "node:path";
import {
  type BlobStore,
  createFileStore,
  createNoteKey,
  createS3Store,
  type Keyring,
  type NoteKey,
  openKeyring,
  parseMasterKey,
  parseNoteKey,
  parseVerifierKey,
  type VerifierKey,
  createMasterKey,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { openSecretFile } from "@reprise/runtime";
import type { StorageEnvironment } from "./config.ts";

/** Where an archive lies, and what opens it. */
export interface AuditStorage {
  /** Name of the archive. */
  readonly name: string;
  readonly store: BlobStore;
  /** The archive's folder; undefined when it is not in one. */
  readonly dir: string | undefined;
  /** Where files are kept to search in, when the archive is not in a folder. This process alone uses it. */
  readonly cacheDir: string;
  readonly keyring: Keyring;
  readonly signer: NoteKey;
  /** Keys that it was signed with before. */
  readonly earlier: readonly VerifierKey[];
}

/**
 * Opens what the environment names, and makes what is missing of it: folders, the master key and the signing key.
 * @throws RepriseError `config_invalid`, `archive_unavailable`
 */
export async function openAuditStorage(env: StorageEnvironment): Promise<AuditStorage> {
  const dataDir = env.REPRISE_DATA_DIR;
  const keysDir = env.REPRISE_AUDIT_KEYS_DIR ?? join(dataDir, "audit-keys");
  const masterKey = env.REPRISE_AUDIT_MASTER_KEY
    ? parseMasterKey(env.REPRISE_AUDIT_MASTER_KEY)
    : await openMasterKeyFile(env.REPRISE_AUDIT_MASTER_KEY_FILE ?? join(keysDir, "master.key"));
  const name = env.REPRISE_AUDIT_NAME;
  const signingKeyFile = env.REPRISE_AUDIT_SIGNING_KEY_FILE ?? join(keysDir, "signing.key");
  const signer = parseNoteKey(await openSecretFile(signingKeyFile, () => createNoteKey(name).skey));
  const earlier = (env.REPRISE_AUDIT_EARLIER_VKEYS ?? []).map(parseVerifierKey);
  const keyring = await openKeyring({
    store: createFileStore(join(keysDir, "wrapped"), "The folder of the archive's keys"),
    masterKey,
  });
  const cacheDir = join(dataDir, `audit-cache-${process.pid}`);
  if (!env.REPRISE_AUDIT_S3_URL) {
    const dir = env.REPRISE_AUDIT_DIR ?? join(dataDir, "audit");
    return { name, store: createFileStore(dir), dir, cacheDir, keyring, signer, earlier };
  }
  const keyId = env.REPRISE_AUDIT_S3_KEY_ID;
  const secret = env.REPRISE_AUDIT_S3_SECRET;
  if (!keyId || !secret) {
    throw new RepriseError(
      "config_invalid",
      "REPRISE_AUDIT_S3_URL needs REPRISE_AUDIT_S3_KEY_ID and REPRISE_AUDIT_S3_SECRET.",
    );
  }
  const store = createS3Store({
    url: env.REPRISE_AUDIT_S3_URL,
    region: env.REPRISE_AUDIT_S3_REGION,
    keyId,
    secret,
  });
  return { name, store, dir: undefined, cacheDir, keyring, signer, earlier };
}

/** The master key in a file, which is made when it is missing. @throws RepriseError `config_invalid` */
export async function openMasterKeyFile(path: string): Promise<Uint8Array> {
  return parseMasterKey(await openSecretFile(path, createMasterKey));
}
