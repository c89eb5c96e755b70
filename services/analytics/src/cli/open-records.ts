import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import type { ParseArgsConfig } from "node:util";
import {
  type Archive,
  type BlobStore,
  createFileStore,
  createS3Store,
  type Keyring,
  openArchive,
  openKeyring,
  parseMasterKey,
} from "@reprise/archive";
import { generationsStream, RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/service";
import { localFiles, openFetchedFiles, type SearchableFiles } from "@reprise/tables";
import { type ReconcileEnvironment, parseReconcileEnvironment } from "../config.ts";
import type { FactStore } from "../facts/fact-store.ts";
import { markedObjects } from "../facts/identity/identified-store.ts";
import { createObjectFacts } from "../facts/object-facts.ts";
import { ParquetRows } from "../facts/parquet-rows.ts";
import { markedPostgres } from "../facts/postgres/marked-postgres.ts";
import { createPostgresFacts } from "../facts/postgres/postgres-facts.ts";
import type { RowSource } from "../facts/row-source.ts";
import { openAnalyticsPostgres } from "../postgres-storage.ts";
import { ArchivedGenerations } from "../reconcile/archived-generations.ts";
import { readOnly } from "../reconcile/read-only-store.ts";
import type { Reach, ReconcileOptions } from "../reconcile/reconcile.ts";
import { openAnalyticsStorage } from "../storage.ts";

export const RECORD_OPTIONS = {
  archive: { type: "string" },
  keys: { type: "string" },
  "master-key-file": { type: "string" },
  name: { type: "string" },
  rows: { type: "string" },
  "usage-dir": { type: "string" },
} as const satisfies ParseArgsConfig["options"];

export const RECORDS_USAGE = `  --archive <folder>          default: $REPRISE_AUDIT_S3_URL, $REPRISE_AUDIT_DIR, or audit in the data folder
  --keys <folder>             default: $REPRISE_AUDIT_KEYS_DIR, or audit-keys in the data folder
  --master-key-file <file>    default: $REPRISE_AUDIT_MASTER_KEY(_FILE), or master.key in the folder of the keys
  --name <name>               of the archive; default: $REPRISE_AUDIT_NAME, or reprise
  --rows <folder>             default: what $REPRISE_ANALYTICS_POSTGRES_URL, _S3_URL or _DIR names, or analytics in the data folder
  --usage-dir <folder>        usage files to compare too; default: $REPRISE_USAGE_DIR, or none`;

type Values = { readonly [Name in keyof typeof RECORD_OPTIONS]?: string | undefined };

interface Records
  extends AsyncDisposable, Pick<ReconcileOptions, "archived" | "rows" | "usageDir" | "reach"> {}

/** The archive and its keys. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly archived: ArchivedGenerations;
}

/** What a commit of analytics was made of may be in memory of two requests to a store. */
const MAX_FETCHED_BYTES = 4 * 1_024 * 1_024 * 1_024;
const FILE_SINK = "file";

/**
 * Opens the archive, its keys, the rows and the usage files to be read, and finds out how far each has come: before any of them is read, so that what one has by then must be in the others.
 * @throws RepriseError `config_invalid`, `archive_unavailable`, `archive_corrupt`
 */
export async function openRecords(values: Values, env: CommandIo["env"]): Promise<Records> {
  const parsed = parseReconcileEnvironment(env);
  await using stack = new AsyncDisposableStack();
  const { assertThere, facts, openRows } = openMeasured(values.rows, parsed, stack);
  await assertThere();
  const usageDir = values["usage-dir"] ?? parsed.REPRISE_USAGE_DIR;
  // Read in this order: what a generation's end has passed must not be looked for where it is not yet.
  const { archive, archived } = await openArchived(values, parsed, stack);
  const reach = await readReach(archive.state.lanes, facts, usageDir !== undefined);
  const rows = await openRows();
  const opened = stack.move();
  return { archived, rows, usageDir, reach, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** @throws RepriseError `config_invalid`, `archive_unavailable`, `archive_corrupt` */
export async function openArchived(
  values: Values,
  env: ReconcileEnvironment,
  stack: AsyncDisposableStack,
): Promise<OpenArchive> {
  const url = values.archive === undefined ? env.REPRISE_AUDIT_S3_URL : undefined;
  const dir = values.archive ?? env.REPRISE_AUDIT_DIR ?? join(env.REPRISE_DATA_DIR, "audit");
  const store = readOnly(url === undefined ? createFileStore(dir) : openS3(url, env));
  const keyring = await openKeys(values, env);
  const archive = await openArchive({ store, name: values.name ?? env.REPRISE_AUDIT_NAME });
  if (archive.state.next === 0)
    throw new RepriseError("archive_unavailable", `There is no archive in ${url ?? dir}.`);
  const files = await toFiles(store, url === undefined ? dir : undefined, stack);
  return { archive, archived: stack.use(new ArchivedGenerations({ archive, keyring, files })) };
}

interface Measured {
  /** @throws RepriseError `archive_unavailable` where there is no store of analytics */
  readonly assertThere: () => Promise<void>;
  readonly facts: FactStore;
  readonly openRows: () => Promise<RowSource>;
}

/** @param dir a folder of rows, in place of what the environment names */
function openMeasured(
  dir: string | undefined,
  env: ReconcileEnvironment,
  stack: AsyncDisposableStack,
): Measured {
  const postgres = dir === undefined ? openAnalyticsPostgres(env, { isReader: true }) : undefined;
  if (postgres) {
    const facts = createPostgresFacts(stack.use(postgres.store));
    const marked = markedPostgres(postgres.store);
    return {
      assertThere: async () => void (await marked.marker()),
      facts,
      openRows: async () => stack.use(await postgres.openRows()),
    };
  }
  const { store: rowStore, dir: rowsDir } = openAnalyticsStorage({
    ...env,
    REPRISE_ANALYTICS_DIR: dir ?? env.REPRISE_ANALYTICS_DIR,
    REPRISE_ANALYTICS_S3_URL: dir === undefined ? env.REPRISE_ANALYTICS_S3_URL : undefined,
  });
  const store = readOnly(rowStore);
  return {
    assertThere: () => assertHasRows(store, rowsDir),
    facts: createObjectFacts(store),
    openRows: async () => stack.use(new ParquetRows({ store, files: await toFiles(store, rowsDir, stack) })),
  };
}

/** A folder that is not there looks like an empty one. */
async function assertHasRows(store: BlobStore, dir: string | undefined): Promise<void> {
  if (await markedObjects(store).marker()) return;
  // One of a version without markers.
  for await (const _ of store.list("generations/")) return;
  const where = dir ?? "the store of REPRISE_ANALYTICS_S3_URL";
  throw new RepriseError("archive_unavailable", `There are no rows of analytics in ${where}.`);
}

async function toFiles(
  store: BlobStore,
  dir: string | undefined,
  stack: AsyncDisposableStack,
): Promise<SearchableFiles> {
  if (dir !== undefined) return localFiles(dir);
  const cache = await mkdtemp(join(tmpdir(), "reprise-usage-"));
  stack.defer(() => rm(cache, { recursive: true, force: true }));
  return openFetchedFiles({ store, dir: join(cache, "files"), maxBytes: MAX_FETCHED_BYTES });
}

function openS3(url: string, env: ReconcileEnvironment): BlobStore {
  const { REPRISE_AUDIT_S3_KEY_ID: keyId, REPRISE_AUDIT_S3_SECRET: secret } = env;
  if (keyId && secret) return createS3Store({ url, region: env.REPRISE_AUDIT_S3_REGION, keyId, secret });
  throw new RepriseError(
    "config_invalid",
    "REPRISE_AUDIT_S3_URL needs REPRISE_AUDIT_S3_KEY_ID and REPRISE_AUDIT_S3_SECRET.",
  );
}

async function openKeys(values: Values, env: ReconcileEnvironment): Promise<Keyring> {
  const dir = values.keys ?? env.REPRISE_AUDIT_KEYS_DIR ?? join(env.REPRISE_DATA_DIR, "audit-keys");
  const named = values["master-key-file"];
  const given = named === undefined ? env.REPRISE_AUDIT_MASTER_KEY : undefined;
  const file = named ?? env.REPRISE_AUDIT_MASTER_KEY_FILE ?? join(dir, "master.key");
  const text = given ?? (await readFile(file, "utf8").catch(() => undefined));
  if (text === undefined) throw new RepriseError("archive_unavailable", `There is no master key for ${dir}.`);
  return openKeyring({
    store: readOnly(createFileStore(join(dir, "wrapped"))),
    masterKey: parseMasterKey(text),
  });
}

type Lanes = ReadonlyMap<string, { readonly last_at: number }>;

async function readReach(lanes: Lanes, facts: FactStore, readsUsage: boolean): Promise<Reach> {
  const isLog = (stream: string) => stream.startsWith(generationsStream(0).slice(0, -1));
  const archive = new Map(
    [...lanes].filter(([stream]) => isLog(stream)).map(([stream, lane]) => [stream, lane.last_at + 1]),
  );
  const [rows, usageFiles] = [new Map<string, number>(), new Map<string, number>()];
  for (const stream of archive.keys()) {
    const last = await facts.lane(stream).last();
    if (!last) continue;
    rows.set(stream, last.last_at + 1);
    if (readsUsage) usageFiles.set(stream, (await firstUndelivered(facts, stream)) ?? last.last_at + 1);
  }
  const of = (reached: ReadonlyMap<string, number>) => (stream: string) => reached.get(stream);
  return { archive: of(archive), rows: of(rows), usageFiles: of(usageFiles) };
}

/** When the first generation ended that the file sink has not had. */
async function firstUndelivered(facts: FactStore, stream: string): Promise<number | undefined> {
  const outbox = facts.outbox(FILE_SINK, stream);
  for (let n = await outbox.place(); ; n++) {
    const rows = await outbox.rowsOf(n);
    if (!rows) return undefined;
    if (rows.length > 0) return Math.min(...rows.map(({ ended_us: endedUs }) => endedUs));
  }
}
