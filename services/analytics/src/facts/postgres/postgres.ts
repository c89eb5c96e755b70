import { Pool, type PoolClient } from "pg";
import { toPostgresFailure } from "./postgres-failure.ts";
import type { QueryOutcome, RunQuery } from "./run-query.ts";
import { migrate } from "./schema.ts";

export interface PostgresOptions {
  /** With a password: it is in no error. */
  readonly url: string;
  /** What one statement may take, and how long a connection may take to open. Default 30 s, and 5 s. */
  readonly statementMs?: number;
  readonly connectMs?: number;
  /** It changes nothing, and makes no tables. Default false. */
  readonly isReader?: boolean;
  /** Default 8. */
  readonly mostConnections?: number;
  /** Stands around each statement: for tests. */
  readonly around?: (run: RunQuery) => RunQuery;
}

const STATEMENT_MS = 30_000;
const CONNECT_MS = 5_000;
const MOST_CONNECTIONS = 8;
const IDLE_MS = 60_000;
/** A server that says nothing is given up so much later than it should have given up itself. */
const SILENCE_MS = 5_000;

/**
 * PostgreSQL for the tables of analytics, which the first transaction makes. There are transactions alone: what bounds them is set in each, so that a pooler of transactions may
 * stand between.
 */
export class Postgres implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #begin: string;
  readonly #isReader: boolean;
  readonly #around: (run: RunQuery) => RunQuery;
  readonly #inUse = new Set<PoolClient>();
  #prepared: Promise<void> | undefined;

  constructor(options: PostgresOptions) {
    const { url, statementMs = STATEMENT_MS, connectMs = CONNECT_MS, isReader = false } = options;
    this.#pool = new Pool({
      connectionString: url,
      application_name: "reprise-analytics",
      max: options.mostConnections ?? MOST_CONNECTIONS,
      connectionTimeoutMillis: connectMs,
      query_timeout: statementMs + SILENCE_MS,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
    });
    // A connection that is lost says so with the statement that it has, or that comes next.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
    const begin = `begin isolation level read committed${isReader ? " read only" : ""}`;
    const bounds = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
    this.#begin = [begin, ...bounds.map((name) => `set local ${name} = ${statementMs}`)].join("; ");
    this.#around = options.around ?? ((run) => run);
    this.#isReader = isReader;
  }

  /**
   * @param work is begun once. When the transaction has failed, it may have been committed yet.
   * @throws RepriseError `archive_unavailable` where PostgreSQL can't be used now, `config_invalid` where its tables are of a newer version, `internal` where it refuses a value;
   *   and what `work` throws, with nothing committed
   */
  async transaction<T>(work: (run: RunQuery) => Promise<T>): Promise<T> {
    try {
      await this.prepare();
      return await this.#transaction(work);
    } catch (error) {
      // Another server may answer next, or the tables are gone.
      this.#prepared = undefined;
      throw toPostgresFailure(error);
    }
  }

  /** Makes the tables, or brings them up to date. A reader does nothing. */
  async prepare(): Promise<void> {
    if (this.#isReader) return;
    this.#prepared ??= this.#transaction(migrate);
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      throw toPostgresFailure(error);
    }
  }

  /** What is under way fails. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#inUse) void client.end().catch(() => {});
    await this.#pool.end();
  }

  async #transaction<T>(work: (run: RunQuery) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    const run = this.#around((text, values) => query(client, text, values));
    this.#inUse.add(client);
    let isSound = false;
    try {
      await run(this.#begin);
      const result = await work(run);
      await run("commit");
      isSound = true;
      return result;
    } finally {
      this.#inUse.delete(client);
      // Closing the connection rolls back what is not committed.
      client.release(!isSound);
    }
  }
}

async function query(client: PoolClient, text: string, values?: readonly unknown[]): Promise<QueryOutcome> {
  const { rows, rowCount } = await client.query<Record<string, unknown>>(text, values && [...values]);
  return { rows, rowCount: rowCount ?? 0 };
}
