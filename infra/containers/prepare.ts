import { createHash, randomBytes } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createNoteKey, parseNoteKey } from "@reprise/archive";
import {
  ensurePrivateDir,
  openSecretFile,
  replaceSecretFile,
  writeNatsConfig,
  type WrittenNatsConfig,
} from "@reprise/runtime";
import { createDevTenant, createOperatorKey, writeRedisConfig } from "@reprise/tenancy";
import { keepCertificate, openAuthority } from "./certificates.ts";
import { closeProfiles, readProfiles } from "./profiles.ts";
import { BUCKET, type Project, settingsOf } from "./settings.ts";

/** Of the volumes, below the folder where the set-up has them. */
const OPERATOR = "operator";
/** Each has a volume `<service>-config`, with the key of its NATS user. */
const USERS = {
  delivery: "delivery",
  "inference-worker": "inference-worker",
  moderation: "moderation",
  "audit-log": "audit-log",
  analytics: "analytics",
  "set-up": "admin",
} as const;
/** Where nats-servers and Redis find what is in their volumes. */
const NATS_DIR = "/etc/nats";
const REDIS_DIR = "/etc/redis";
/** Jobs of Prometheus, and the containers without their number. */
const TWICE = { "reprise-delivery": "delivery", "reprise-inference-worker": "worker" };
/** The most that each nats-server stores, on any volume. */
const MAX_STORE = "20G";
/** More than anyone sets REPRISE_SHARDS to: permissions are written for that number. */
const SHARDS = 16;

/** The access that the set-up has made, for people. */
export interface Access {
  readonly apiKey: string;
  readonly operatorKey: string;
}

/**
 * Makes what services, nats-servers, Redis, nginx and Prometheus of docker-compose.yml read: keys, certificates, users, settings, each in the volume of
 * the one that reads it. What is there is kept, so that a start after the first changes nothing but what a newer version writes otherwise.
 *
 * @param volumes the folder with all volumes
 * @param proxy the folder of nginx's configuration
 */
export async function prepare(volumes: string, proxy: string): Promise<void> {
  const operator = join(volumes, OPERATOR);
  await ensurePrivateDir(operator);
  const profiles = await readProfiles(operator);
  const isFull = profiles.has("full");
  const servers = isFull ? ["nats-1", "nats-2", "nats-3"] : ["nats-1"];
  const authority = await openAuthority(operator);

  const nats = await prepareNats(volumes, servers);
  await keepCertificate(authority, join(volumes, "nats-config", "tls"), "nats", servers);
  const redisUrls = isFull ? await prepareRedis(volumes) : undefined;
  if (isFull) await keepCertificate(authority, join(volumes, "redis-config", "tls"), "redis", ["redis"]);
  const nodes = isFull ? 2 : 1;
  await prepareProxy(volumes, proxy, nodes);
  await prepareTargets(volumes, nodes);
  await keepCertificate(authority, join(volumes, "nginx-config", "tls"), "proxy", ["localhost", "127.0.0.1"]);
  const s3 = profiles.has("s3") ? await prepareStore(volumes) : undefined;

  const { apiKey, operatorKey } = await openAccess(volumes);
  const signer = parseNoteKey(
    await openSecretFile(
      join(volumes, "audit-log-config", "signing.key"),
      () => createNoteKey("reprise").skey,
    ),
  );
  const { file } = createDevTenant(Buffer.from(apiKey.slice("rk_demo_".length), "base64url"));
  await put(join(volumes, "delivery-config", "tenants.json"), file);
  const project: Project = {
    servers,
    redisUrls,
    s3,
    hasCollector: profiles.has("observability"),
    operatorKeySha256: createHash("sha256").update(operatorKey).digest("hex"),
    vkey: signer.vkey,
  };
  for (const [service, settings] of Object.entries(settingsOf(project))) {
    const folder = join(volumes, `${service}-config`);
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await put(join(folder, "settings.env"), lines.join(""));
    await put(join(folder, "ca.crt"), authority.cert);
  }
  for (const [service, user] of Object.entries(USERS))
    await copySecret(nats.keyFiles[user], join(volumes, `${service}-config`, "nats.nk"));
  await closeProfiles(operator);
}

/** @throws Error before the first start */
export async function readAccess(volumes: string): Promise<Access> {
  const read = async (name: string) => (await readFile(join(volumes, OPERATOR, name), "utf8")).trim();
  return { apiKey: await read("demo.key"), operatorKey: await read("operator.key") };
}

async function openAccess(volumes: string): Promise<Access> {
  const open = (name: string, make: () => string) => openSecretFile(join(volumes, OPERATOR, name), make);
  return {
    apiKey: await open("demo.key", () => createDevTenant(randomBytes(24)).secret),
    operatorKey: await open("operator.key", () => createOperatorKey(randomBytes(24))),
  };
}

async function prepareNats(volumes: string, names: readonly string[]): Promise<WrittenNatsConfig> {
  const written = await writeNatsConfig({
    dir: join(volumes, OPERATOR, "nats"),
    shards: SHARDS,
    servers: names.map((name) => ({
      name,
      host: name,
      port: 4_222,
      routePort: 6_222,
      storeDir: "/data",
      maxStore: MAX_STORE,
    })),
    tls: tlsIn(NATS_DIR, "nats"),
    syncInterval: undefined,
  });
  for (const name of ["accounts", ...names])
    await copySecret(
      join(volumes, OPERATOR, "nats", `${name}.conf`),
      join(volumes, "nats-config", `${name}.conf`),
    );
  return written;
}

async function prepareRedis(volumes: string): Promise<{ delivery: string; worker: string }> {
  const dir = join(volumes, OPERATOR, "redis");
  const tls = tlsIn(REDIS_DIR, "redis");
  const { urlFiles } = await writeRedisConfig({ dir, host: "redis", port: 6_379, tls });
  for (const name of ["redis.conf", "users.acl"])
    await copySecret(join(dir, name), join(volumes, "redis-config", name));
  const read = async (file: string) => (await readFile(file, "utf8")).trim();
  return { delivery: await read(urlFiles.delivery), worker: await read(urlFiles.worker) };
}

/** nginx's configuration as it is in `infra/proxies/nginx`, with as many delivery nodes as there are. */
async function prepareProxy(volumes: string, from: string, nodes: number): Promise<void> {
  const to = join(volumes, "nginx-config");
  await cp(from, to, { recursive: true });
  const file = join(to, "upstream.conf");
  const lines = (await readFile(file, "utf8")).split("\n");
  const isThere = (line: string) => Number(/^\s*server delivery-(\d+):/.exec(line)?.[1] ?? 0) <= nodes;
  await writeFile(file, lines.filter(isThere).join("\n"));
}

/** Targets of Prometheus for services that a profile has twice. It reads the files again when they change. */
async function prepareTargets(volumes: string, nodes: number): Promise<void> {
  for (const [job, name] of Object.entries(TWICE)) {
    const targets = Array.from({ length: nodes }, (_, index) => `${name}-${index + 1}:9464`);
    await put(join(volumes, "prometheus-config", `${job}.json`), `${JSON.stringify([{ targets }])}\n`);
  }
}

/** @returns the access key of the S3-compatible store */
async function prepareStore(volumes: string): Promise<{ keyId: string; secret: string }> {
  const secret = await openSecretFile(join(volumes, OPERATOR, "s3.secret"), () =>
    randomBytes(24).toString("hex"),
  );
  const keyId = "reprise";
  await ensurePrivateDir(join(volumes, "s3-data", BUCKET));
  await put(
    join(volumes, "s3-config", "settings.env"),
    `export ROOT_ACCESS_KEY=${keyId} ROOT_SECRET_KEY=${secret}\n`,
  );
  return { keyId, secret };
}

async function copySecret(from: string, to: string): Promise<void> {
  await put(to, await readFile(from, "utf8"));
}

/** Writes a file for its owner alone, in a folder for its owner alone. */
async function put(path: string, text: string): Promise<void> {
  await ensurePrivateDir(dirname(path));
  await replaceSecretFile(path, text);
}

function tlsIn(folder: string, name: string): { caFile: string; certFile: string; keyFile: string } {
  const file = (suffix: string) => `${folder}/tls/${suffix}`;
  return { caFile: file("ca.crt"), certFile: file(`${name}.crt`), keyFile: file(`${name}.key`) };
}
