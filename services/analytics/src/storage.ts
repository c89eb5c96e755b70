import { join } from "node:path";
import { type BlobStore, createFileStore, createS3Store } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { localFiles, openFetchedFiles } from "@reprise/facts/tables";
import type { AnalyticsStorageEnvironment } from "./config.ts";
import { DuckDbRows } from "./facts/duckdb-rows.ts";
import type { KeptListing } from "./facts/listing/kept-listing.ts";
import type { RowSource } from "./facts/row-source.ts";

export interface AnalyticsStorage {
  readonly store: BlobStore;
  /** The folder of the rows; undefined if they are in a bucket. */
  readonly dir: string | undefined;
  /** Opens the rows for reading. @param listing the names of files that the process keeps. Default: the store is listed for each question */
  readonly openRows: (listing?: KeptListing) => Promise<RowSource & AsyncDisposable>;
}

/** Bytes of files that questions have fetched from an object store; those that questions under way use may take the same again. */
const CACHE_BYTES = 2 * 1_024 * 1_024 * 1_024;

/**
 * Opens what the environment names: beside the archive, in a folder or under a prefix of its own.
 * @throws RepriseError `config_invalid`
 */
export function openAnalyticsStorage(env: AnalyticsStorageEnvironment): AnalyticsStorage {
  const url = env.REPRISE_ANALYTICS_S3_URL;
  if (url === undefined) {
    const dir = env.REPRISE_ANALYTICS_DIR ?? join(env.REPRISE_DATA_DIR, "analytics");
    const store = createFileStore(dir, "The folder of analytics");
    return {
      store,
      dir,
      openRows: async (listing) => new DuckDbRows({ store: listing ?? store, files: localFiles(dir) }),
    };
  }
  const { REPRISE_AUDIT_S3_KEY_ID: keyId, REPRISE_AUDIT_S3_SECRET: secret } = env;
  if (!keyId || !secret) {
    const message = "REPRISE_ANALYTICS_S3_URL needs REPRISE_AUDIT_S3_KEY_ID and REPRISE_AUDIT_S3_SECRET.";
    throw new RepriseError("config_invalid", message);
  }
  const store = createS3Store({ url, region: env.REPRISE_AUDIT_S3_REGION, keyId, secret });
  return {
    store,
    dir: undefined,
    async openRows(listing) {
      const dir = join(env.REPRISE_DATA_DIR, "analytics-cache");
      const files = await openFetchedFiles({ store, dir, maxBytes: CACHE_BYTES, maxUsedBytes: CACHE_BYTES });
      return new DuckDbRows({ store: listing ?? store, files });
    },
  };
}
