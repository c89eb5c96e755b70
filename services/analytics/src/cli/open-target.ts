import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { ReconcileEnvironment } from "../config.ts";
import type { FactStore } from "../facts/fact-store.ts";
import { markedObjects } from "../facts/identity/identified-store.ts";
import type { MarkedStore, StoreMarker } from "../facts/identity/store-marker.ts";
import { createObjectFacts } from "../facts/object-facts.ts";
import { markedPostgres } from "../facts/postgres/marked-postgres.ts";
import { createPostgresFacts } from "../facts/postgres/postgres-facts.ts";
import { openAnalyticsPostgres } from "../postgres-storage.ts";
import { openAnalyticsStorage } from "../storage.ts";

/** A store of rows that a command writes to. */
export interface RowTarget {
  readonly facts: FactStore;
  readonly marked: MarkedStore;
  /** Undefined where rows are in no objects. */
  readonly store: BlobStore | undefined;
}

/** @param dir a folder, in place of what the environment names */
export function openTarget(
  dir: string | undefined,
  env: ReconcileEnvironment,
  stack: AsyncDisposableStack,
): RowTarget {
  const postgres = dir === undefined ? openAnalyticsPostgres(env) : undefined;
  if (postgres) {
    const { store } = postgres;
    stack.use(store);
    return { facts: createPostgresFacts(store), marked: markedPostgres(store), store: undefined };
  }
  const { store } = openAnalyticsStorage({
    ...env,
    REPRISE_ANALYTICS_DIR: dir ?? env.REPRISE_ANALYTICS_DIR,
    REPRISE_ANALYTICS_S3_URL: dir === undefined ? env.REPRISE_ANALYTICS_S3_URL : undefined,
  });
  return { facts: createObjectFacts(store), marked: markedObjects(store), store };
}

const ID = /^[0-9a-f]{24}$/;

/** @throws RepriseError `invalid_request` */
export function parseStoreIds(ids: readonly string[]): readonly string[] {
  const wrong = ids.find((id) => !ID.test(id));
  if (wrong === undefined) return ids;
  throw new RepriseError(
    "invalid_request",
    `--replaces ${wrong} is not the id of a store: 24 hex digits, as analytics' log names it.`,
  );
}

export function describeMarker({ id, replaces }: StoreMarker): string {
  return `The store is ${id}${replaces.length > 0 ? `, in place of ${replaces.join(", ")}` : ""}. Start analytics anew.`;
}
