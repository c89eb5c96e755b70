import { createHash, X509Certificate } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ENVIRONMENT_TABLE } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { prepare, readAccess } from "../../infra/containers/prepare.ts";
import { chooseProfile, moveToProfile, type Profile } from "../../infra/containers/profiles.ts";
import { SERVICE_PARSERS } from "./testing/service-parsers.ts";
import { imageOf, mountsOf, readComposeFile, ROOT } from "./testing/compose-file.ts";
import { readDockerfileEnvironment } from "./testing/dockerfile.ts";

const PROXY = join(ROOT, "infra/proxies/nginx");
/** Variables of Node, of other programs and of the set-up. */
const OTHERS = /^(?:NODE_EXTRA_CA_CERTS|HTTP_PORT|GOMEMLIMIT|GF_[A-Z_]+)$/;
const IS_FILE = /_(?:NKEY|CA|FILE|CERTS)$/;

interface PrometheusConfig {
  readonly scrape_configs: {
    readonly job_name: string;
    readonly static_configs?: { readonly targets: string[] }[];
    readonly file_sd_configs?: { readonly files: string[] }[];
  }[];
}

const { services } = readComposeFile();
const IMAGE_ENVIRONMENT = readDockerfileEnvironment();
const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));

async function prepared(profiles: readonly Profile[]) {
  const dir = await createTempDir("volumes");
  for (const profile of profiles) await chooseProfile(join(dir.path, "operator"), profile);
  await prepare(dir.path, PROXY);
  const read = (path: string) => readFileSync(join(dir.path, path), "utf8");
  return { volumes: dir.path, read, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

function hashesOf(folder: string): Record<string, string> {
  const files = globSync("**", { cwd: folder }).filter((path) => statSync(join(folder, path)).isFile());
  const hash = (path: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, path)))
      .digest("hex");
  return Object.fromEntries(files.toSorted().map((path) => [path, hash(path)]));
}

describe.each<{ profiles: Profile[] }>([
  { profiles: [] },
  { profiles: ["observability"] },
  { profiles: ["full"] },
  { profiles: ["full", "s3", "observability"] },
])("with the profiles $profiles", ({ profiles }) => {
  test("every variable is known, each service parses its settings, and each file that they name exists", async () => {
    await using made = await prepared(profiles);
    const parsed: Record<string, Readonly<Record<string, unknown>>> = {};
    for (const [name, service] of Object.entries(services)) {
      const image = imageOf(service) ?? "";
      const mounts = mountsOf(service);
      const config = mounts.find(({ source }) => source === `${image}-config`);
      const settings = config ? parseEnv(made.read(`${image}-config/settings.env`)) : {};
      const env = { ...service.environment, ...settings } as Record<string, string>;
      expect([name, Object.keys(env).filter((key) => !known.has(key) && !OTHERS.test(key))]).toEqual([
        name,
        [],
      ]);
      const parse = SERVICE_PARSERS[image];
      if (parse) parsed[name] = parse({ ...IMAGE_ENVIRONMENT, ...env });
      for (const [key, path] of Object.entries(env).filter(([variable]) => IS_FILE.test(variable))) {
        const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
        const from = mount?.source.startsWith("./") ? ROOT : made.volumes;
        const file = join(from, mount?.source ?? "none", path.slice(mount?.target.length ?? 0));
        expect([name, key, statSync(file, { throwIfNoEntry: false })?.isFile()]).toEqual([name, key, true]);
      }
    }
    const isFull = profiles.includes("full");
    const redis = (user: string) =>
      isFull ? expect.stringMatching(new RegExp(`^rediss://${user}:.+@redis:6379$`)) : undefined;
    expect(parsed).toMatchObject({
      "delivery-1": {
        REPRISE_REPLICAS: isFull ? 3 : 1,
        REPRISE_REDIS_URL: redis("delivery"),
        REPRISE_PORT: 8_080,
      },
      "worker-1": { REPRISE_REDIS_URL: redis("worker") },
      "audit-log": {
        REPRISE_AUDIT_S3_URL: profiles.includes("s3") ? "http://s3:7070/reprise/archive" : undefined,
        REPRISE_AUDIT_WITNESS_URLS: ["http://witness:8080"],
      },
      analytics: {
        REPRISE_ANALYTICS_S3_URL: profiles.includes("s3") ? "http://s3:7070/reprise/rows" : undefined,
        OTEL_EXPORTER_OTLP_ENDPOINT: profiles.includes("observability") ? "http://collector:4318" : undefined,
      },
      witness: { REPRISE_WITNESS_LOGS: [expect.stringMatching(/^reprise\+/)] },
    });
  });

  test("Prometheus scrapes each service of these profiles, and no other", async () => {
    await using made = await prepared(profiles);
    const { scrape_configs } = parseYaml(
      readFileSync(join(ROOT, "infra/containers/prometheus.yml"), "utf8"),
    ) as PrometheusConfig;
    for (const { job_name, static_configs = [], file_sd_configs = [] } of scrape_configs) {
      const written = file_sd_configs
        .flatMap(({ files }) => files.map((path) => path.replace("targets/", "prometheus-config/")))
        .flatMap((path) => JSON.parse(made.read(path)) as { targets: string[] }[]);
      const targets = [...static_configs, ...written].flatMap((one) => one.targets);
      const own = Object.entries(services).filter(([, service]) => {
        const isStarted =
          service.profiles?.some((name) => profiles.some((profile) => profile === name)) ?? true;
        return isStarted && `reprise-${imageOf(service)}` === job_name;
      });
      expect([job_name, targets]).toEqual([job_name, own.map(([name]) => `${name}:9464`)]);
    }
  });

  test("a second start changes nothing", async () => {
    await using made = await prepared(profiles);
    const before = hashesOf(made.volumes);
    await prepare(made.volumes, PROXY);
    expect(hashesOf(made.volumes)).toEqual(before);
  });
});

test("each volume has one NATS user's key, and files for their owner alone", async () => {
  await using made = await prepared(["full"]);
  const keys = globSync("*-config/**/nats.nk", { cwd: made.volumes }).map((path) => made.read(path));
  expect([keys.length, new Set(keys).size]).toEqual([6, 6]);
  const open = globSync("*-config/**", { cwd: made.volumes }).filter((path) => {
    const { mode } = statSync(join(made.volumes, path));
    return !path.startsWith("nginx-config") && (mode & 0o077) !== 0;
  });
  expect(open).toEqual([]);
  const elsewhere = globSync("*-config/**/*.{key,secret,nk}", { cwd: made.volumes }).map((path) =>
    made.read(path),
  );
  expect(elsewhere).not.toContain(made.read("operator/tls/ca.key"));
});

test("nginx gets the repository's configuration, with one delivery node without the profile full", async () => {
  await using full = await prepared(["full"]);
  await using small = await prepared([]);
  for (const path of globSync("**/*.conf", { cwd: PROXY }))
    expect(full.read(`nginx-config/${path}`)).toBe(readFileSync(join(PROXY, path), "utf8"));
  const nodesOf = (text: string) => text.match(/server delivery-\d/g);
  expect(nodesOf(small.read("nginx-config/upstream.conf"))).toEqual(["server delivery-1"]);
  const { subjectAltName } = new X509Certificate(small.read("nginx-config/tls/proxy.crt"));
  expect(subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1");
});

test("a lost certificate is made again by the same authority, and the others stay", async () => {
  await using made = await prepared(["full"]);
  const before = hashesOf(made.volumes);
  await rm(join(made.volumes, "nats-config/tls/nats.key"));
  await prepare(made.volumes, PROXY);
  const after = hashesOf(made.volumes);
  const changed = Object.keys(before).filter((path) => before[path] !== after[path]);
  expect(changed).toEqual(["nats-config/tls/nats.crt", "nats-config/tls/nats.key"]);
});

test("once there are settings, a profile that would leave data unused is refused, and another one is added", async () => {
  await using made = await prepared([]);
  const operator = join(made.volumes, "operator");
  for (const profile of ["full", "s3"] as const)
    await expect(chooseProfile(operator, profile)).rejects.toThrow(`made without the profile ${profile}`);
  await chooseProfile(operator, "observability");
  await prepare(made.volumes, PROXY);
  expect(made.read("delivery-config/settings.env")).toContain("OTEL_EXPORTER_OTLP_ENDPOINT=");
  expect((await readAccess(made.volumes)).apiKey).toMatch(/^rk_demo_/);
});

test("volumes of a backup move to the profile full while there are no streams, and keep their keys", async () => {
  await using made = await prepared([]);
  await mkdir(join(made.volumes, "nats-1"));
  const keys = ["operator/demo.key", "audit-log-config/signing.key", "operator/tls/ca.crt"].map(made.read);
  await moveToProfile(made.volumes, "full");
  await prepare(made.volumes, PROXY);
  expect(made.read("delivery-config/settings.env")).toContain("REPRISE_REPLICAS=3\n");
  expect(["operator/demo.key", "audit-log-config/signing.key", "operator/tls/ca.crt"].map(made.read)).toEqual(
    keys,
  );
  await writeFile(join(made.volumes, "nats-1", "jetstream"), "");
  await expect(moveToProfile(made.volumes, "full")).rejects.toThrow("The volume of nats-1 is not empty.");
});
