import { RepriseError } from "@reprise/protocol";
import { Client } from "pg";
import type { AnalyticsPostgresEnvironment } from "./config.ts";
import { Postgres } from "./facts/postgres/postgres.ts";
import { PostgresRows } from "./facts/postgres/postgres-rows.ts";
import type { AnalyticsStorage } from "./storage.ts";

/** Connections of questions: commits have theirs for themselves. */
const MOST_QUERIES = 4;

/**
 * Opens the PostgreSQL that the environment names. A reader changes nothing in it.
 * @returns undefined where it names none
 * @throws RepriseError `config_invalid`, without the URL: it may hold a password
 */
export function openAnalyticsPostgres(
  env: AnalyticsPostgresEnvironment,
  { isReader = false }: { readonly isReader?: boolean } = {},
): AnalyticsStorage<Postgres> | undefined {
  const url = env.REPRISE_ANALYTICS_POSTGRES_URL;
  if (url === undefined) return undefined;
  if (env.REPRISE_ANALYTICS_DIR !== undefined || env.REPRISE_ANALYTICS_S3_URL !== undefined) {
    const message =
      "REPRISE_ANALYTICS_POSTGRES_URL takes the place of REPRISE_ANALYTICS_DIR and REPRISE_ANALYTICS_S3_URL: set one of them.";
    throw new RepriseError("config_invalid", message);
  }
  assertUsable(url);
  return {
    store: new Postgres({ url, isReader }),
    dir: undefined,
    openRows: async () =>
      new PostgresRows(new Postgres({ url, isReader: true, mostConnections: MOST_QUERIES })),
  };
}

function assertUsable(url: string): void {
  try {
    // Reads the certificates that it names, and connects nowhere.
    void new Client(url);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RepriseError("config_invalid", `REPRISE_ANALYTICS_POSTGRES_URL can't be used: ${reason}.`);
  }
}
