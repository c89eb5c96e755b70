// `npm run nats -- backup`, `check-backup` and `restore`. See docs/operations/backup.md.
import { parseArgs } from "node:util";
import { type BackedUpStream, checkBackup, restoreBackup, takeBackup } from "@reprise/stream";
import { type Broker, connectBroker } from "@reprise/broker";
import { findBrokerAddress } from "@reprise/runtime";

export const BACKUP_USAGE = `npm run nats -- backup <folder>        copies all streams into a new folder while services run, as the user admin: see REPRISE_NATS_URL and
                              REPRISE_NATS_NKEY; without them the broker of the running npm start
npm run nats -- check-backup <folder>  whether a backup is whole and as it was written
npm run nats -- restore <folder> [--replicas <number>]
                              makes the streams from a backup, at a broker that has none of them; no service may run
  --replicas <number>         how many servers store each stream; default: as in the backup`;

type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** The parts of its process that a command uses. */
interface Io {
  readonly env: ProcessEnvironment;
  readonly print: (line: string) => void;
}

export async function backup(args: readonly string[], { env, print }: Io): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const dir = folderOf(positionals);
  await using broker = await openAdmin("backup", env);
  const { streams } = await takeBackup(broker, { dir, onStream: (stream) => print(describe(stream)) });
  print(
    `${dir} is whole: ${streams.length} streams, ${size(sum(streams))}. It holds texts and private keys.`,
  );
}

export async function checkedBackup(args: readonly string[], { print }: Io): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const dir = folderOf(positionals);
  const { streams, shards, server, begun_at, done_at } = await checkBackup(dir);
  for (const stream of streams) print(describe(stream));
  print(
    `${dir} is whole: ${streams.length} streams of ${shards} shards, from nats-server ${server}, ${begun_at} to ${done_at}.`,
  );
}

export async function restore(args: readonly string[], { env, print }: Io): Promise<void> {
  const options = { replicas: { type: "string" } } as const;
  const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options });
  const dir = folderOf(positionals);
  const replicas = values.replicas === undefined ? undefined : Number(values.replicas);
  if (replicas !== undefined && ![1, 3, 5].includes(replicas))
    throw new Error(`--replicas: "${values.replicas}" is not 1, 3 or 5.`);
  await using broker = await openAdmin("restore", env);
  const onStream = (stream: BackedUpStream, expired: number) =>
    print(`${describe(stream)}${expired === 0 ? "" : `, of which ${expired} have expired`}`);
  const { manifest, queued } = await restoreBackup(broker, { dir, replicas, onStream });
  print(`${manifest.streams.length} streams are as they were at ${manifest.done_at}.`);
  print(`Generations without an end and a job, queued again: ${queued}.`);
}

function folderOf(positionals: readonly string[]): string {
  const [dir, ...more] = positionals;
  if (dir === undefined || more.length > 0) throw new Error("Which folder? Name one.");
  return dir;
}

async function openAdmin(name: string, env: ProcessEnvironment): Promise<Broker> {
  const address = await findBrokerAddress(env);
  if (!address) throw new Error("Which broker? Set REPRISE_NATS_URL, or start npm start.");
  return connectBroker({ ...address, user: "admin", name });
}

function describe({ config, state, bytes, sha256 }: BackedUpStream): string {
  const name = config.name.padEnd(16);
  return `${name} ${String(state.messages).padStart(9)} messages up to ${state.last_seq}, ${size(bytes)}, sha256 ${sha256.slice(0, 12)}`;
}

function sum(streams: readonly BackedUpStream[]): number {
  return streams.reduce((total, { bytes }) => total + bytes, 0);
}

function size(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
