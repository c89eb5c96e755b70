import { join } from "node:path";
import { type BlobStore, createFileStore, createS3Store } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { AnalyticsStorageEnvironment } from "./config.ts";

/** Where rows are kept. */
export interface AnalyticsStorage {
  readonly store: BlobStore;
  /** The folder; undefined where they are in no folder. */
  readonly dir: string | undefined;
}

/**
 * Opens what the environment names: beside the archive, in a folder or under a prefix of its own.
 * @throws RepriseError `config_invalid`
 */
export function openAnalyticsStorage(env: AnalyticsStorageEnvironment): AnalyticsStorage {
  const url = env.REPRISE_ANALYTICS_S3_URL;
  if (url === undefined) {
    const dir = env.REPRISE_ANALYTICS_DIR ?? join(env.REPRISE_DATA_DIR, "analytics");
    return { store: createFileStore(dir), dir };
  }
  const { REPRISE_AUDIT_S3_KEY_ID: keyId, REPRISE_AUDIT_S3_SECRET: secret } = env;
  if (!keyId || !secret) {
    const message = "REPRISE_ANALYTICS_S3_URL needs REPRISE_AUDIT_S3_KEY_ID and REPRISE_AUDIT_S3_SECRET.";
    throw new RepriseError("config_invalid", message);
  }
  const store = createS3Store({ url, region: env.REPRISE_AUDIT_S3_REGION, keyId, secret });
  return { store, dir: undefined };
}
