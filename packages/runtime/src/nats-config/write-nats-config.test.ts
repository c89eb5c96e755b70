import { execFile } from "node:child_process";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connectBroker, openBroker } from "@reprise/broker";
import {
  createTempDir,
  createTestCertificates,
  eventually,
  findFreePort,
  PATIENCE_MS,
  startOnFreePorts,
  untilAnswered,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { findNatsServer } from "../broker/find-nats-server.ts";
import { spawnSupervised } from "../lifecycle/supervised-process.ts";
import type { ConfiguredServer } from "./server-conf.ts";
import { writeNatsConfig } from "./write-nats-config.ts";

const run = promisify(execFile);
const DATA_DIR = fileURLToPath(new URL("../../../../.reprise", import.meta.url));
const HOST = "127.0.0.1";

async function findBinary(): Promise<string> {
  return (await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR)).path;
}

async function newServers(dir: string, count: number): Promise<ConfiguredServer[]> {
  const servers: ConfiguredServer[] = [];
  for (let i = 1; i <= count; i++) {
    const [port, routePort] = [await findFreePort(), await findFreePort()];
    servers.push({
      name: `nats-${i}`,
      host: HOST,
      port,
      routePort,
      storeDir: join(dir, `store-${i}`),
      maxStore: "1G",
    });
  }
  return servers;
}

/** Servers that run by their configuration, with all streams. */
async function startServers(count: number, isSecured: boolean) {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("nats-config"));
  const certificates = await createTestCertificates(join(dir.path, "certificates"));
  const { cert, key } = await certificates.issue("server", [HOST]);
  const tls = isSecured ? { caFile: certificates.ca, certFile: cert, keyFile: key } : undefined;
  const servers = await newServers(dir.path, count);
  const config = { dir: join(dir.path, "nats"), shards: 2, servers, tls, syncInterval: undefined };
  const { serverFiles, keyFiles } = await writeNatsConfig(config);

  const binary = await findBinary();
  const ends: Promise<never>[] = [];
  for (const file of serverFiles) {
    expect(await readFile(file, "utf8")).toContain('"max_file_store": "1G"');
    await run(binary, ["-t", "-c", file]);
    const server = await spawnSupervised([binary, "-c", file], { stopGraceS: 5, output: "pipe" });
    stack.defer(server.stop);
    server.stdout!.resume();
    const ended = text(server.stderr!).then((log) => Promise.reject(new Error(log)));
    ended.catch(() => undefined);
    ends.push(ended);
  }
  const url = servers.map(({ port }) => `${isSecured ? "tls" : "nats"}://${HOST}:${port}`).join(",");
  const addressOf = (user: keyof typeof keyFiles) => ({
    url,
    access: { nkeyFile: keyFiles[user], ...(isSecured && { caFile: certificates.ca }) },
    user,
    name: user,
  });
  const topology = { shards: 2, replicas: count, retentionMs: 3_600_000 };
  const open = (user: keyof typeof keyFiles) =>
    untilAnswered(() => openBroker({ ...addressOf(user), ...topology }));
  const admin = await Promise.race([open("admin"), ...ends]);
  await admin.close();
  const kept = stack.move();
  return { url, open, addressOf, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test.each([
  ["one server", 1, false],
  ["one server with TLS", 1, true],
  ["a cluster with TLS", 3, true],
])("%s takes its configuration, and lets a service do what it may", async (_what, count, isSecured) => {
  await using servers = await startOnFreePorts(() => startServers(count, isSecured));
  const { url, addressOf } = servers;
  await using delivery = await servers.open("delivery");
  const deletion = delivery.main.request("$JS.API.STREAM.DELETE.JOBS", "", { timeout: PATIENCE_MS });
  await expect(deletion).rejects.toThrow("Permissions Violation");
  const { access } = addressOf("delivery");
  const stranger = { url, access: { ...access, nkeyFile: undefined }, name: "stranger" };
  // nats-server gives a client two seconds to make itself known, which a busy machine may take.
  await eventually(() =>
    expect(connectBroker(stranger)).rejects.toMatchObject({
      code: "broker_unavailable",
      message: expect.stringContaining("refuses the credentials"),
    }),
  );
});

test("keys are kept when the configuration is written again, and only their owner can read any of it", async () => {
  await using dir = await createTempDir("nats-config");
  const servers = await newServers(dir.path, 1);
  const config = { dir: join(dir.path, "nats"), shards: 2, servers, tls: undefined, syncInterval: undefined };
  const { keyFiles } = await writeNatsConfig(config);
  const keysOf = async () => Promise.all(Object.values(keyFiles).map((path) => readFile(path, "utf8")));
  const before = await keysOf();
  expect(new Set(before).size).toBe(6);
  await writeNatsConfig({ ...config, shards: 3 });
  expect(await keysOf()).toEqual(before);
  const accounts = await readFile(join(config.dir, "accounts.conf"), "utf8");
  expect(accounts).toContain("GENERATIONS_2");
  expect(before.some((seed) => accounts.includes(seed.trim()))).toBe(false);
  for (const entry of await readdir(config.dir, { recursive: true, withFileTypes: true })) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect(`${entry.name} ${(mode & 0o777).toString(8)}`).toBe(`${entry.name} ${entry.isFile() ? 600 : 700}`);
  }
  await rm(keyFiles.moderation);
  await writeNatsConfig(config);
  const after = await keysOf();
  expect(after.filter((seed, i) => seed !== before[i])).toHaveLength(1);
});

test("servers that are reached over a network need certificates", async () => {
  await using dir = await createTempDir("nats-config");
  const [server] = await newServers(dir.path, 1);
  const servers = [{ ...server!, host: "nats-1.example" }];
  const config = { dir: dir.path, shards: 2, servers, tls: undefined, syncInterval: undefined };
  await expect(writeNatsConfig(config)).rejects.toMatchObject({ code: "config_invalid" });
});
