import { RepriseError } from "@reprise/protocol";
import { DELIVERIES } from "../tables/deliveries-table.ts";
import type { FactTable } from "../tables/fact-table.ts";
import { GENERATIONS } from "../tables/generations-table.ts";
import type { RunQuery } from "./run-query.ts";

/*
 * The tables of analytics in PostgreSQL, all in one schema:
 *
 * generations  the rows, with the commit that each is of; `is_superseded`: the stream has lost what the row was made of, and it counts no longer
 * deliveries   rows of how they were delivered, the same way
 * commits      one for each batch of a stream, in their order
 * folds        the generations that go on, as they were from one commit on and up to another, or still are
 * places       what each sink of usage has got
 * store        one row: what this database is told from every other one by
 */

const TYPES = { text: 'text collate "C"', integer: "bigint", boolean: "boolean", json: "jsonb" } as const;

/** Each brings the tables to the next version, and is never changed once it was released. Columns that rows get later need a step of their own. */
const STEPS: readonly string[] = [
  `
  create table reprise_analytics.commits (
    stream text collate "C" not null,
    n bigint not null,
    epoch bigint not null,
    created text not null,
    last bigint not null,
    last_seq_stored bigint not null,
    last_at bigint not null,
    digest text not null,
    is_superseded boolean not null default false,
    committed_at timestamptz not null default now(),
    primary key (stream, n)
  );
  create table reprise_analytics.folds (
    stream text collate "C" not null,
    subject text collate "C" not null,
    from_n bigint not null,
    until_n bigint,
    fold text not null,
    primary key (stream, subject, from_n)
  ) with (toast_tuple_target = 128);
  create unique index folds_open on reprise_analytics.folds (stream, subject) where until_n is null;
  create index folds_until on reprise_analytics.folds (stream, until_n) where until_n is not null;
  create table reprise_analytics.generations (
    stream text collate "C" not null,
    commit_n bigint not null,
    commit_i integer not null,
    is_superseded boolean not null default false,
    ${definitionsOf(GENERATIONS)},
    primary key (stream, commit_n, commit_i)
  );
  create index generations_of_tenant on reprise_analytics.generations (tenant, ended_us, generation)
    where not is_superseded;
  create index generations_of_all on reprise_analytics.generations (ended_us, generation)
    where not is_superseded;
  create index generations_by_id on reprise_analytics.generations (generation);
  create table reprise_analytics.places (
    sink text collate "C" not null,
    stream text collate "C" not null,
    next bigint not null,
    primary key (sink, stream)
  );
  `,
  `
  create table reprise_analytics.deliveries (
    stream text collate "C" not null,
    commit_n bigint not null,
    commit_i integer not null,
    is_superseded boolean not null default false,
    ${definitionsOf(DELIVERIES)},
    primary key (stream, commit_n, commit_i)
  );
  create index deliveries_of_generation on reprise_analytics.deliveries (tenant, generation)
    where not is_superseded;
  create index deliveries_of_all on reprise_analytics.deliveries (recorded_us) where not is_superseded;
  `,
  // A schema that is new has every column from its first step.
  `
  alter table reprise_analytics.generations add column if not exists engine text collate "C";
  `,
  `
  alter table reprise_analytics.generations add column if not exists first_tokens bigint;
  `,
  `
  create table if not exists reprise_analytics.store (
    is_one boolean primary key default true check (is_one),
    id text not null,
    replaces text[] not null
  );
  `,
  `
  alter table reprise_analytics.generations add column if not exists estimated_input_tokens bigint;
  `,
];

function definitionsOf<Row>({ fields }: FactTable<Row>): string {
  return fields
    .map(({ name, kind, isNullable }) => `"${name}" ${TYPES[kind]}${isNullable ? "" : " not null"}`)
    .join(",\n    ");
}

/** Any number that no other lock of the database has. */
const LOCK = 7_012_411_935;

/**
 * Makes the schema and its tables where they are missing. Where they are there, nothing but reading them is needed.
 * @throws RepriseError `config_invalid`
 */
export async function migrate(run: RunQuery): Promise<void> {
  if ((await versionOf(run)) === STEPS.length) return;
  await run("select pg_advisory_xact_lock($1)", [LOCK]);
  // What another process has done in the meantime counts.
  const version = await versionOf(run);
  if (version > STEPS.length) {
    const message = `The schema reprise_analytics has version ${version}; this analytics knows ${STEPS.length} at most.`;
    throw new RepriseError("config_invalid", message);
  }
  if (version === 0) {
    const { rowCount } = await run("select from pg_namespace where nspname = 'reprise_analytics'");
    // With "if not exists" it would need the right to create one also where it is there.
    if (rowCount === 0) await run("create schema reprise_analytics");
    await run("create table reprise_analytics.version (version integer not null)");
    await run("insert into reprise_analytics.version values (0)");
  }
  for (const step of STEPS.slice(version)) await run(step);
  await run("update reprise_analytics.version set version = $1", [STEPS.length]);
}

/** 0 where there are no tables. */
async function versionOf(run: RunQuery): Promise<number> {
  // Not `to_regclass`, which may answer from a cache of before another transaction.
  const { rowCount } = await run(
    "select from pg_tables where schemaname = 'reprise_analytics' and tablename = 'version'",
  );
  if (rowCount === 0) return 0;
  const found = await run("select version from reprise_analytics.version");
  return Number(found.rows[0]?.["version"]);
}
