import { join } from "node:path";
import type { GenerationRow } from "@reprise/metering";
import { type RepriseError, STREAM_START } from "@reprise/protocol";
import {
  createRef,
  createTempDir,
  createTestCertificates,
  startPostgres,
  type TestPostgres,
} from "@reprise/testkit";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAnalyticsPostgres } from "../../postgres-storage.ts";
import { createDatabase } from "../../testing/fact-targets.ts";
import { generationRowOf } from "../../testing/generation-row.ts";
import { createPostgresFacts } from "./postgres-facts.ts";
import { PostgresRows } from "./postgres-rows.ts";
import { Postgres } from "./postgres.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server[Symbol.asyncDispose]());

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(sql);
  await client.end();
}

const failureOf = (work: Promise<unknown>): Promise<RepriseError> =>
  work.then(
    () => expect.unreachable("It has worked."),
    (error: unknown) => error as RepriseError,
  );

test("processes that start at once make the tables once", async () => {
  const url = await createDatabase(server.url);
  const all = Array.from({ length: 6 }, () => new Postgres({ url }));
  await Promise.all(all.map((postgres) => postgres.prepare()));
  expect(await createPostgresFacts(all[0]!).lane("GENERATIONS_0").last()).toBeUndefined();
  await Promise.all(all.map((postgres) => postgres[Symbol.asyncDispose]()));
});

test("a user who may make a schema once, or read and write its tables later, has all rights that are needed", async () => {
  const url = await createDatabase(server.url);
  const database = new URL(url).pathname.slice(1);
  const role = `role_${database}`;
  await execute(
    url,
    `create role ${role} login password 'word'; grant create on database ${database} to ${role}`,
  );
  const limited = new URL(url);
  [limited.username, limited.password] = [role, "word"];
  await using first = new Postgres({ url: limited.href });
  await first.prepare();
  await execute(url, `revoke create on database ${database} from ${role}`);
  await using second = new Postgres({ url: limited.href });
  expect(await createPostgresFacts(second).outbox("file", "GENERATIONS_0").place()).toBe(0);
});

test("tables of versions that lack columns get them, and keep their rows", async () => {
  const url = await createDatabase(server.url);
  const row = {
    ...generationRowOf(createRef()),
    engine: null,
    first_tokens: null,
    estimated_input_tokens: null,
  };
  await using first = new Postgres({ url });
  await first.prepare();
  const commit = async (postgres: Postgres, committed: GenerationRow) => {
    const facts = createPostgresFacts(postgres).lane("GENERATIONS_0");
    await facts.last();
    const position = { stream: "GENERATIONS_0", epoch: 1, created: "c", last_at: 0 };
    const lane = { ...position, last: STREAM_START, last_seq_stored: STREAM_START };
    const drafted = { lane, rows: [committed], changed: [], closed: [] };
    expect(await facts.commit(drafted, () => [])).toBe("committed");
  };
  await commit(first, row);
  await execute(
    url,
    "alter table reprise_analytics.generations drop column engine, drop column first_tokens, drop column estimated_input_tokens; update reprise_analytics.version set version = 2",
  );
  const second = new Postgres({ url });
  await using rows = new PostgresRows(second);
  await second.prepare();
  const all = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 10 };
  expect(await rows.page(all)).toEqual([row]);
  const later = {
    ...generationRowOf(createRef(), { atUs: 1 }),
    engine: "sim",
    first_tokens: 3,
    estimated_input_tokens: 7,
  };
  await commit(second, later);
  expect(await rows.page(all)).toEqual([later, row]);
});

test("tables of a newer version are left alone", async () => {
  const url = await createDatabase(server.url);
  await using postgres = new Postgres({ url });
  await postgres.prepare();
  await execute(url, "update reprise_analytics.version set version = 99");
  await using older = new Postgres({ url });
  expect(await failureOf(older.prepare())).toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/version 99; this analytics knows [0-9]+ at most/),
  });
});

test("a statement that takes too long fails, and closing does not wait for one", async () => {
  const url = await createDatabase(server.url);
  await using hasty = new Postgres({ url, statementMs: 100 });
  const late = await failureOf(hasty.transaction((run) => run("select pg_sleep(60)")));
  expect(late).toMatchObject({ code: "archive_unavailable", message: expect.stringContaining("57014") });
  const patient = new Postgres({ url });
  await patient.prepare();
  const started = Promise.withResolvers<void>();
  const sleeping = failureOf(
    patient.transaction(async (run) => {
      await run("select 1");
      started.resolve();
      return run("select pg_sleep(60)");
    }),
  );
  await started.promise;
  await patient[Symbol.asyncDispose]();
  expect(await sleeping).toMatchObject({ code: "archive_unavailable" });
});

test("an error has neither the password nor a value", async () => {
  const wrong = new URL(server.url);
  wrong.password = "pass-word";
  await using refused = new Postgres({ url: wrong.href });
  const refusal = await failureOf(refused.prepare());
  expect(refusal).toMatchObject({ code: "archive_unavailable", message: expect.stringContaining("28P01") });
  expect(JSON.stringify([refusal.message, refusal.stack, refusal.cause])).not.toContain("pass-word");
  await using postgres = new Postgres({ url: await createDatabase(server.url) });
  const invalid = await failureOf(postgres.transaction((run) => run("select $1::bigint", ["a prompt"])));
  expect(invalid.code).toBe("internal");
  expect(JSON.stringify([invalid.message, invalid.stack, invalid.cause])).not.toContain("a prompt");
});

test("a URL that can't be used is refused without being repeated", async () => {
  const open = (env: object) =>
    openAnalyticsPostgres({
      REPRISE_ANALYTICS_POSTGRES_URL: undefined,
      REPRISE_ANALYTICS_DIR: undefined,
      REPRISE_ANALYTICS_S3_URL: undefined,
      ...env,
    });
  expect(open({})).toBeUndefined();
  const url = "postgres://user:pass-word@127.0.0.1/db?sslmode=verify-full&sslrootcert=/no/such.pem";
  const both = () => open({ REPRISE_ANALYTICS_POSTGRES_URL: url, REPRISE_ANALYTICS_DIR: "/rows" });
  expect(both).toThrow(/set one of them/);
  const unreadable = () => open({ REPRISE_ANALYTICS_POSTGRES_URL: url });
  expect(unreadable).toThrow(/can't be used: .*such\.pem/);
  expect(unreadable).not.toThrow(/pass-word/);
});

test("with sslmode=verify-full the server proves who it is, or nothing is sent to it", async () => {
  await using dir = await createTempDir("postgres-tls");
  const own = await createTestCertificates(join(dir.path, "own"));
  const foreign = await createTestCertificates(join(dir.path, "foreign"));
  await using secured = await startPostgres({ tls: await own.issue("server", ["127.0.0.1"]) });
  const prepare = async (query: string) => {
    await using postgres = new Postgres({ url: `${secured.url}?${query}` });
    await postgres.prepare();
    const sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    return (await postgres.transaction((run) => run(sql))).rows;
  };
  expect(await prepare(`sslmode=verify-full&sslrootcert=${own.ca}`)).toEqual([{ ssl: true }]);
  for (const query of [`sslmode=verify-full&sslrootcert=${foreign.ca}`, "sslmode=verify-full"])
    expect(await failureOf(prepare(query))).toMatchObject({ code: "archive_unavailable" });
});
