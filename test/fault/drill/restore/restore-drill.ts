import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type BackupManifest,
  type Broker,
  createGenerationLog,
  restoreBackup,
  takeBackup,
} from "@reprise/log";
import { JOBS_STREAM, parseGenerationId, STREAM_START } from "@reprise/protocol";
import { createTempDir, untilAnswered } from "@reprise/testkit";
import { createTenant, type Tenant } from "../../world/tenant.ts";
import { copyFolders, untilFoldersThere } from "./copy-folders.ts";
import { DrillClient } from "./drill-client.ts";
import { DrillReader } from "./drill-reader.ts";
import { encodeDrillTenants } from "./drill-tenants.ts";
import {
  askTurn,
  type DrilledConversation,
  holdConversation,
  judgeConversation,
} from "./drilled-conversation.ts";
import { type DrilledBroker, startDrilledBroker, startDrilledPlatform } from "./drilled-platform.ts";
import {
  judgeAnswers,
  judgeArchive,
  judgeBlob,
  judgeReaders,
  judgeShown,
  judgeUsage,
  type Logs,
} from "./judge-platform.ts";
import { compareStream, readContents, type StreamContents } from "./stream-contents.ts";

export interface RestoreDrillOptions {
  /** Generations that have ended before the backup, that run during it, and that begin behind it. */
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
const BEHIND_BACKUP_MS = 1_000;
/** Of a conversation, before the backup. */
const TURNS = 3;
/** Streams in which messages go by themselves: replaced by newer ones of their subject, expired, or done. */
const THINNED =
  /^(?:CHECKPOINTS|VERDICTS|REVIEWS|READERS|LEASES|BLOBS|KEY_USE|CONVERSATIONS|THREADS|KV_.*|RULES|JOBS)$/;

type AllContents = ReadonlyMap<string, StreamContents>;

/**
 * Makes data on a real broker, backs it up while services write, destroys everything, restores it to an empty broker and compares. Then the platform
 * goes on there.
 * @param say told of each step
 * @returns what was found wrong
 */
export async function drillRestore(
  counts: RestoreDrillOptions,
  say: (line: string) => void,
): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack();
  const { path: dir } = stack.use(await createTempDir("drill"));
  const copyDir = join(dir, "copy");
  const backupDir = join(dir, "backup");
  const tenant = createTenant("acme");
  const lost = await loseEverything(counts, { dir, copyDir, backupDir, tenant, say });

  const broker = stack.use(await startDrilledBroker({ isEmpty: true }));
  const startedAt = performance.now();
  const { queued } = await restoreBackup(broker.admin, { dir: backupDir });
  say(
    `restored to an empty broker in ${Math.round(performance.now() - startedAt)} ms; queued again: ${queued}`,
  );
  const problems = compareStreams(
    lost,
    await readContents(broker.admin, await listStreams(broker.admin)),
    say,
  );
  const restored = await readLogs(broker, tenant, [...lost.logs.keys()]);
  problems.push(...compareLogs(lost, restored));

  // Without the tenants file: the broker has the tenants.
  const platform = stack.use(await startDrilledPlatform(broker, { dataDir: copyDir }));
  const client = new DrillClient(platform.url, tenant, lost.client.sent);
  const readings = await judgeReaders(lost.readers, platform.url, restored);
  say(`readers that went on from their cursor: ${readings.resumed}; told of lost events: ${readings.told}`);
  problems.push(...readings.problems);
  if (readings.told === 0)
    problems.push("no reader was ahead of the backup: nothing was stored while it was taken");
  const whole = await readLogs(broker, tenant, [...lost.logs.keys()]);
  problems.push(...judgeShown(lost.readers, whole));
  problems.push(...(await judgeAnswers(client, lost)));
  problems.push(...(await judgeBlob(client, lost.blob)));
  say(`a blob of ${BLOB_BYTES} bytes is what it was, under its id, and uploaded again it has the same`);
  problems.push(...(await judgeUsage(client, whole.size)));
  say(`usage has each of ${whole.size} generations once`);
  const read = (id: string) => readLogs(broker, tenant, [id]);
  problems.push(...(await judgeConversation(client, lost.conversation, read)));
  say(`a conversation has the ${TURNS} turns that it had, and went on behind them`);
  await platform.stop();
  problems.push(...(await judgeArchive(copyDir, tenant.id, whole)));
  say(`the archive verifies, and plays generations as the log has them`);
  return problems;
}

/** What is known of the platform that is gone. */
interface Lost {
  readonly client: DrillClient;
  readonly backup: BackupManifest;
  /** What the streams held when the backup began, and in the end. */
  readonly before: AllContents;
  readonly after: AllContents;
  readonly logs: Logs;
  readonly ended: readonly string[];
  readonly readers: readonly DrillReader[];
  readonly texts: ReadonlyMap<string, string>;
  /** Content that was uploaded before the backup, by its blob's id. */
  readonly blob: readonly [string, Buffer<ArrayBuffer>];
  /** Another turn of it began behind the backup. */
  readonly conversation: DrilledConversation;
  /** Generations that began behind the backup. */
  readonly lost: readonly string[];
  /** A generation, and a stream token for it. */
  readonly token: readonly [string, string];
}

interface Place {
  readonly dir: string;
  readonly copyDir: string;
  readonly backupDir: string;
  readonly tenant: Tenant;
  readonly say: (line: string) => void;
}

async function loseEverything(
  { ended: endedCount, running: runningCount, young: youngCount }: RestoreDrillOptions,
  { dir, copyDir, backupDir, tenant, say }: Place,
): Promise<Lost> {
  const tenantsFile = join(dir, "tenants.json");
  await writeFile(tenantsFile, encodeDrillTenants([tenant]));
  await using broker = await startDrilledBroker({ isEmpty: false });
  const dataDir = join(dir, "lost");
  await using platform = await startDrilledPlatform(broker, { dataDir, tenantsFile });
  say(`${platform.services.length} services run on nats-server ${broker.admin.main.info?.version}`);
  const client = new DrillClient(platform.url, tenant);
  const plain = await client.create(endedCount, SHORT);
  const gated = await client.create(1, CARD, { moderation: { mode: "gate", rules: ["cards"] } });
  const conversation = await holdConversation(client, TURNS);
  const ended = [...plain, ...gated, ...conversation.turns];
  const texts = new Map<string, string>();
  for (const id of ended) texts.set(id, await client.textOf(id));
  const content = randomBytes(BLOB_BYTES);
  const blob = [await client.upload(content), content] as const;
  const names = await listStreams(broker.admin);
  const before = await readContents(broker.admin, names);
  await untilFoldersThere(dataDir);
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

  const shown = () => readers.reduce((sum, { seen }) => sum + seen.size, 0);
  const [shownBefore, startedAt] = [shown(), performance.now()];
  await copyFolders(dataDir, copyDir);
  const backup = await takeBackup(broker.admin, { dir: backupDir });
  const ms = Math.round(performance.now() - startedAt);
  const bytes = backup.streams.reduce((sum, stream) => sum + stream.bytes, 0);
  say(
    `backed up ${names.length} streams, ${bytes} bytes, and the folders in ${ms} ms; readers were shown ${shown() - shownBefore} events meanwhile`,
  );
  const young = await client.create(youngCount, LONG);
  young.push(await askTurn(client, conversation.id, "Behind the backup?"));
  await delay(BEHIND_BACKUP_MS);
  await platform.kill();
  await Promise.all(readers.map((reader) => reader.sleep()));
  const after = await readContents(broker.admin, names);
  const logs = await readLogs(broker, tenant, [...ended, ...running]);
  say("every process was killed, and the broker's store is gone");
  return {
    client,
    backup,
    before,
    after,
    logs,
    ended,
    readers,
    texts,
    blob,
    conversation,
    lost: young,
    token,
  };
}

async function listStreams({ main }: Broker): Promise<string[]> {
  const answer = await main.request("$JS.API.STREAM.NAMES");
  return answer.json<{ streams: string[] }>().streams;
}

function compareStreams({ backup, before, after }: Lost, restored: AllContents, say: Place["say"]): string[] {
  let compared = 0;
  const problems = backup.streams.flatMap(({ config: { name }, state }) => {
    // Behind its copy there are the jobs that were queued again.
    const there = [...restored.get(name)!].filter(([seq]) => name !== JOBS_STREAM || seq <= state.last_seq);
    compared += there.length;
    const copied = { name, lastSeq: state.last_seq, isThinned: THINNED.test(name) };
    return compareStream(copied, before.get(name)!, after.get(name)!, new Map(there));
  });
  say(`compared ${compared} messages of ${backup.streams.length} streams`);
  return problems;
}

function compareLogs({ logs, ended }: Lost, restored: Logs): string[] {
  return [...restored].flatMap(([id, payloads]) => {
    const was = logs.get(id) ?? [];
    if (payloads.length === 0) return [`the log of ${id} is not there`];
    if (payloads.some((payload, seq) => payload !== was[seq]))
      return [`the log of ${id} is no beginning of what it was`];
    return ended.includes(id) && payloads.length !== was.length ? [`the log of ${id} lacks its end`] : [];
  });
}

async function readLogs(
  broker: Pick<DrilledBroker, "admin">,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Logs> {
  const log = createGenerationLog(broker.admin satisfies Broker);
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
