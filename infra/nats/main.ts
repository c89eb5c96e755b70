// `npm run nats`: writes configurations for nats-servers, creates the platform's streams, and backs them up. See README.md.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { openBroker } from "@reprise/broker";
import {
  BROKER_ADDRESS_NAMES,
  brokerAddressOf,
  type ConfiguredServer,
  endWithReader,
  parseEnvironment,
  topologyOf,
  writeNatsConfig,
} from "@reprise/runtime";
import { TLS_OPTIONS, toServerTls } from "../tls-options.ts";
import { backup, BACKUP_USAGE, checkedBackup, restore } from "./backup.ts";
import { removeLostServer, REMOVE_SERVER_USAGE } from "./remove-server.ts";
import { status, STATUS_USAGE } from "./status.ts";

const USAGE = `npm run nats -- generate --out <folder> [options]
  --servers <names>           hosts of the servers, separated by commas: one, or three or five that form a cluster; default: 127.0.0.1
  --tls-ca, --tls-cert, --tls-key <file>
                              PEM files on the servers' machines; needed for servers that are not on 127.0.0.1
  --store <folder>            where servers keep streams, on their machines; default: jetstream, in the folder where a server is started
  --max-store <size>          the most that a server stores, such as 18G: nine tenths of its volume; default: 75 % of what is free when it starts
  --shards <number>           default: $REPRISE_SHARDS, or 4
npm run nats -- set-up        creates the streams, or changes them to what the environment says, as the user admin: see REPRISE_NATS_URL,
                              REPRISE_NATS_NKEY, REPRISE_SHARDS, REPRISE_REPLICAS and REPRISE_RETENTION_HOURS
${STATUS_USAGE}
${REMOVE_SERVER_USAGE}
${BACKUP_USAGE}`;

const OPTIONS = {
  out: { type: "string" },
  servers: { type: "string", default: "127.0.0.1" },
  ...TLS_OPTIONS,
  store: { type: "string", default: "jetstream" },
  "max-store": { type: "string" },
  shards: { type: "string" },
} as const;

const PORT = 4_222;
const ROUTE_PORT = 6_222;
const TOPOLOGY_NAMES = ["REPRISE_SHARDS", "REPRISE_REPLICAS", "REPRISE_RETENTION_HOURS"] as const;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function generate(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.out === undefined) throw new Error("--out is missing.");
  const given = values.shards === undefined ? {} : { REPRISE_SHARDS: values.shards };
  const { REPRISE_SHARDS: shards } = parseEnvironment({ ...process.env, ...given }, ["REPRISE_SHARDS"]);
  const servers = values.servers.split(",").map((host, i): ConfiguredServer => ({
    ...toServer(host.trim(), i, values.store),
    maxStore: parseSize(values["max-store"]),
  }));
  const tls = toServerTls(values);
  const written = await writeNatsConfig({ dir: values.out, shards, servers, tls, syncInterval: undefined });
  for (const [i, file] of written.serverFiles.entries()) print(`${servers[i]?.host}: nats-server -c ${file}`);
  for (const [user, file] of Object.entries(written.keyFiles)) print(`${user}: REPRISE_NATS_NKEY=${file}`);
  print(`${resolve(values.out)} holds secrets: only its owner can read it.`);
}

function toServer(host: string, i: number, storeDir: string): ConfiguredServer {
  return { name: `nats-${i + 1}`, host, port: PORT, routePort: ROUTE_PORT, storeDir };
}

function parseSize(text: string | undefined): string | undefined {
  if (text === undefined || /^[1-9]\d*[KMGT]$/.test(text)) return text;
  throw new Error(`--max-store is ${JSON.stringify(text)}: write a size such as 18G.`);
}

async function setUp(): Promise<void> {
  const env = parseEnvironment(
    process.env,
    [...BROKER_ADDRESS_NAMES, ...TOPOLOGY_NAMES],
    ["REPRISE_NATS_URL"],
  );
  const topology = topologyOf(env);
  await using _ = await openBroker({ ...brokerAddressOf(env), user: "admin", name: "set-up", ...topology });
  print(`The streams are there: ${topology.shards} shards, ${topology.replicas} replicas.`);
}

const [command, ...rest] = process.argv.slice(2);
const io = { env: process.env, print };
endWithReader(process.stdout);
try {
  if (rest.includes("--help")) print(USAGE);
  else if (command === "generate") await generate(rest);
  else if (command === "set-up" && rest.length === 0) await setUp();
  else if (command === "status") {
    if (!(await status(rest, io))) process.exitCode = 1;
  } else if (command === "remove-server") await removeLostServer(rest, io);
  else if (command === "backup") await backup(rest, io);
  else if (command === "check-backup") await checkedBackup(rest, io);
  else if (command === "restore") await restore(rest, io);
  else {
    const isAsked = command === "--help";
    (isAsked ? process.stdout : process.stderr).write(`${USAGE}\n`);
    process.exitCode = isAsked ? 0 : 2;
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
