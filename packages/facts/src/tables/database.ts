import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { Semaphore } from "@reprise/async";

const MOST_QUERIES = 2;
const INTERRUPT_MS = 50;

/** It can't write, can't load code, and takes no more than this of the machine. */
const CONFIG = {
  memory_limit: "512MB",
  threads: "2",
  temp_directory: "",
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
  allow_community_extensions: "false",
  lock_configuration: "true",
} as const;

/** DuckDB for queries over local files: a few at a time, in bounded memory. It is started by the first query. */
export class Database implements AsyncDisposable {
  readonly #gate: Semaphore;
  #instance: Promise<DuckDBInstance> | undefined;

  /** @param options.mostQueries at a time: together they have the memory that DuckDB is given. Default 2 */
  constructor({ mostQueries = MOST_QUERIES }: { readonly mostQueries?: number } = {}) {
    this.#gate = new Semaphore(mostQueries);
  }

  /**
   * Calls back in its turn, with a connection for that work alone.
   * @param signal interrupts the statement that runs when it aborts; its reason is thrown where the turn has not come
   */
  query<T>(work: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#gate.run(async () => {
      const connection = await (await this.#open()).connect();
      let interrupting: NodeJS.Timeout | undefined;
      const interrupt = () => {
        connection.interrupt();
        // A statement that has been asked for and has not begun does not hear of it.
        interrupting = setInterval(() => connection.interrupt(), INTERRUPT_MS);
      };
      signal?.addEventListener("abort", interrupt, { once: true });
      try {
        return await work(connection);
      } finally {
        signal?.removeEventListener("abort", interrupt);
        clearInterval(interrupting);
        connection.closeSync();
      }
    }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const instance = this.#instance;
    this.#instance = undefined;
    (await instance)?.closeSync();
  }

  #open(): Promise<DuckDBInstance> {
    if (!this.#instance) {
      this.#instance = DuckDBInstance.create(":memory:", CONFIG);
      // A database that could not be made is made with the next query.
      this.#instance.catch(() => (this.#instance = undefined));
    }
    return this.#instance;
  }
}
