import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type BlobStore, createFileStore } from "@reprise/archive";
import { createFaultyStore, dyingAt } from "@reprise/archive/testing";
import { RepriseError } from "@reprise/protocol";
import { localFiles } from "@reprise/tables";
import { createTempDir, startPostgres } from "@reprise/testkit";
import { Client } from "pg";
import type { FactStore } from "../facts/fact-store.ts";
import { createObjectFacts } from "../facts/object-facts.ts";
import { ParquetRows } from "../facts/parquet-rows.ts";
import { Postgres } from "../facts/postgres/postgres.ts";
import type { RunQuery } from "../facts/postgres/run-query.ts";
import { createPostgresFacts, type PostgresFactsOptions } from "../facts/postgres/postgres-facts.ts";
import { PostgresRows } from "../facts/postgres/postgres-rows.ts";
import type { RowSource } from "../facts/row-source.ts";

/** A kind of store for commits. */
export interface FactTarget extends AsyncDisposable {
  /** An empty one. */
  open(): Promise<OpenFacts>;
}

export interface OpenFacts extends AsyncDisposable {
  readonly facts: FactStore;
  readonly rows: RowSource;
  /** Undefined where commits are no objects. */
  readonly store?: BlobStore;
  /** The same store for a process that dies at its n-th call or statement, before or after it has happened. */
  readonly dying: (n: number, when: "before" | "after") => FactStore;
}

/** What tests of commits run against. `calls`: a lane that begins and commits makes so many calls at most. */
export const FACT_TARGETS = [
  { name: "objects", start: startObjects, calls: 20 },
  { name: "PostgreSQL", start: () => startPostgresFacts(), calls: 36 },
] as const;

async function startObjects(): Promise<FactTarget> {
  const folder = await createTempDir("facts");
  return {
    async open() {
      const dir = join(folder.path, randomBytes(6).toString("hex"));
      const store = createFileStore(dir);
      const rows = new ParquetRows({ store, files: localFiles(dir), partRows: 2 });
      return {
        facts: createObjectFacts(store),
        rows,
        store,
        dying: (n, when) => createObjectFacts(createFaultyStore(store, dyingAt(n, when))),
        [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
      };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

export async function startPostgresFacts(options: PostgresFactsOptions = {}): Promise<FactTarget> {
  const server = await startPostgres();
  return {
    async open() {
      const stack = new AsyncDisposableStack();
      const url = await createDatabase(server.url);
      const connect = (around?: (run: RunQuery) => RunQuery) =>
        stack.use(new Postgres({ url, ...(around && { around }) }));
      const postgres = connect();
      await postgres.prepare();
      return {
        facts: createPostgresFacts(postgres, options),
        rows: stack.use(new PostgresRows(new Postgres({ url, isReader: true }))),
        dying: (n, when) => createPostgresFacts(connect(dyingAtStatement(n, when)), options),
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** @returns the URL of a database of its own on the same server */
export async function createDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const client = new Client(url);
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return url.replace(/\/[^/]*$/, `/${name}`);
}

function dyingAtStatement(n: number, when: "before" | "after"): (run: RunQuery) => RunQuery {
  let calls = 0;
  const failure = () => new RepriseError("archive_unavailable", "The process has died.");
  return (run) => async (text, values) => {
    const call = calls++;
    if (call > n || (call === n && when === "before")) throw failure();
    const outcome = await run(text, values);
    if (call === n) throw failure();
    return outcome;
  };
}
