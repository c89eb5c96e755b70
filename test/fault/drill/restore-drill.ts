import { createHash, randomBytes } from "node:crypto";
import { access, cp, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createGenerationLog, restoreBackup, takeBackup } from "@reprise/stream";
import { parseGenerationId, STREAM_START } from "@reprise/protocol";
import { createTempDir, untilAnswered } from "@reprise/testkit";
import { createTenant, type Tenant } from "../world/tenant.ts";
import { DrillClient } from "./drill-client.ts";
import { DrillReader } from "./drill-reader.ts";
import { type DrilledBroker, startDrilledBroker, startDrilledPlatform } from "./drilled-platform.ts";
import {
  judgeAnswers,
  judgeArchive,
  judgeReaders,
  judgeShown,
  judgeUsage,
  type Logs,
} from "./judge-platform.ts";

export interface RestoreDrillOptions {
  /** Generations that have ended before the backup, that run during it, and that begin after it. */
  readonly ended: number;
  readonly running: number;
  readonly young: number;
}

/** A running generation outlasts the backup and the loss. */
const LONG = { tokens: 600, tokens_per_second: 30 };
const SHORT = { tokens: 40 };
const CARD = { text: "My card is 4111 1111 1111 1111, thank you." };
/** Several chunks of 128 KiB, and a part of one. */
const BLOB_BYTES = 600_000;
const ASLEEP_AFTER = 20;
const AFTER_BACKUP_MS = 1_000;
const POLL_MS = 50;
/**
 * The archive, its keys and the rows of analytics, copied while services write. A folder that refers to another is copied first: what it
 * refers to was stored before, and never changes.
 */
const FOLDERS = ["audit/_log", "audit", "audit-keys", "analytics/generations", "analytics"] as const;
const ROLES = ["create", "read", "cancel", "usage", "blob"];

type Say = (line: string) => void;

/**
 * Makes data on a real broker, backs it up while services write, destroys everything, restores it to an empty broker, compares, and
 * continues there.
 * @returns problems, none if all is well
 */
export async function drillRestore(counts: RestoreDrillOptions, say: Say): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack();
  const { path: dir } = stack.use(await createTempDir("drill"));
  const tenant = createTenant("acme");
  const lost = await loseEverything(counts, { dir, tenant, say });

  const broker = stack.use(await startDrilledBroker({ isEmpty: true }));
  const startedAt = performance.now();
  const { queued } = await restoreBackup(broker.admin, { dir: join(dir, "backup") });
  say(
    `restored to an empty broker in ${Math.round(performance.now() - startedAt)} ms; queued again: ${queued}`,
  );
  const ids = [...lost.logs.keys()];
  const restored = await readLogs(broker, tenant, ids);
  const problems = compareLogs(lost, restored);

  // Without the tenants file: the broker has the tenants.
  const platform = stack.use(await startDrilledPlatform(broker, { dataDir: join(dir, "copy") }));
  const client = new DrillClient(platform.url, tenant, lost.client.sent);
  const readings = await judgeReaders(lost.readers, platform.url, restored);
  say(`readers that resumed from their cursor: ${readings.resumed}; told of lost events: ${readings.told}`);
  problems.push(...readings.problems);
  if (readings.told === 0)
    problems.push("no reader was ahead of the backup: it was taken while nothing was stored");
  const whole = await readLogs(broker, tenant, ids);
  problems.push(...judgeShown(lost.readers, whole));
  problems.push(...(await judgeAnswers(client, lost)));
  say("texts, Idempotency-Keys, a stream token and a blob are compared");
  problems.push(...(await judgeUsage(client, whole.size)));
  say(`usage is compared with ${whole.size} generations`);
  await platform.stop();
  problems.push(...(await judgeArchive(join(dir, "copy"), tenant.id, whole)));
  say("the archive is verified, and its replays are compared with the log");
  return problems;
}

/** What is known of the platform that is gone. */
interface Lost {
  readonly client: DrillClient;
  readonly logs: Logs;
  readonly ended: readonly string[];
  readonly readers: readonly DrillReader[];
  readonly texts: ReadonlyMap<string, string>;
  readonly blob: readonly [string, Buffer<ArrayBuffer>];
  /** Generations that began after the backup. */
  readonly lost: readonly string[];
  readonly token: readonly [string, string];
}

async function loseEverything(
  { ended: endedCount, running: runningCount, young: youngCount }: RestoreDrillOptions,
  { dir, tenant, say }: { readonly dir: string; readonly tenant: Tenant; readonly say: Say },
): Promise<Lost> {
  const tenantsFile = join(dir, "tenants.json");
  const sha256 = createHash("sha256").update(tenant.key).digest("hex");
  await writeFile(
    tenantsFile,
    JSON.stringify({ tenants: [{ id: tenant.id, keys: [{ sha256, roles: ROLES }] }] }),
  );
  await using broker = await startDrilledBroker({ isEmpty: false });
  const dataDir = join(dir, "lost");
  await using platform = await startDrilledPlatform(broker, { dataDir, tenantsFile });
  say(`${platform.services.length} services run on nats-server ${broker.admin.main.info?.version}`);
  const client = new DrillClient(platform.url, tenant);
  const plain = await client.create(endedCount, SHORT);
  const gated = await client.create(1, CARD, { moderation: { mode: "gate", rules: ["cards"] } });
  const ended = [...plain, ...gated];
  const texts = new Map<string, string>();
  for (const id of ended) texts.set(id, await client.textOf(id));
  const content = randomBytes(BLOB_BYTES);
  const blob = [await client.upload(content), content] as const;
  await untilFolders(dataDir);
  const running = await client.create(runningCount, LONG);
  const readers = running.map((id) => new DrillReader(id, tenant.key));
  await using letGo = new AsyncDisposableStack();
  for (const reader of readers) letGo.defer(() => reader.sleep());
  for (const reader of readers) reader.wake(platform.url);
  await Promise.all(readers.map((reader) => reader.until(ASLEEP_AFTER)));
  // Every second phone falls asleep now, and keeps its cursor.
  await Promise.all(readers.filter((_, i) => i % 2 === 0).map((reader) => reader.sleep()));
  const token = [running[0]!, await client.mintToken(running[0]!)] as const;
  say(`${ended.length} generations have ended, ${running.length} run; half of their readers sleep`);

  const startedAt = performance.now();
  for (const folder of FOLDERS)
    await cp(join(dataDir, folder), join(dir, "copy", folder), {
      recursive: true,
      force: false,
      preserveTimestamps: true,
      filter: (path) => basename(path) !== ".tmp",
    });
  const { streams } = await takeBackup(broker.admin, { dir: join(dir, "backup") });
  const bytes = streams.reduce((sum, stream) => sum + stream.bytes, 0);
  const ms = Math.round(performance.now() - startedAt);
  say(`backed up ${streams.length} streams, ${bytes} bytes, and the folders in ${ms} ms`);
  const young = await client.create(youngCount, LONG);
  await delay(AFTER_BACKUP_MS);
  await platform.kill();
  await Promise.all(readers.map((reader) => reader.sleep()));
  const logs = await readLogs(broker, tenant, [...ended, ...running]);
  say("every process was killed, and the broker's store is gone");
  return { client, logs, ended, readers, texts, blob, lost: young, token };
}

/** Resolves when the audit log and analytics have each made a commit. */
async function untilFolders(dir: string): Promise<void> {
  const exists = (folder: string) =>
    access(join(dir, folder)).then(
      () => true,
      () => false,
    );
  while (!(await Promise.all(FOLDERS.map(exists))).every(Boolean)) await delay(POLL_MS);
}

function compareLogs({ logs, ended }: Lost, restored: Logs): string[] {
  return [...restored].flatMap(([id, payloads]) => {
    const was = logs.get(id) ?? [];
    if (payloads.length === 0) return [`the log of ${id} is missing`];
    if (payloads.some((payload, seq) => payload !== was[seq])) return [`the log of ${id} has changed`];
    return ended.includes(id) && payloads.length !== was.length ? [`the log of ${id} lacks its end`] : [];
  });
}

async function readLogs(
  { admin }: Pick<DrilledBroker, "admin">,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Logs> {
  const log = createGenerationLog(admin);
  const logs = new Map<string, string[]>();
  for (const id of ids) {
    const ref = { tenant: tenant.id, generation: parseGenerationId(id) };
    const stored = await untilAnswered(() => log.leader.readTail(ref, STREAM_START));
    logs.set(
      id,
      stored.map(({ payload }) => Buffer.from(payload).toString()),
    );
  }
  return logs;
}
