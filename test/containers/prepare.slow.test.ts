import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ENVIRONMENT_TABLE } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { prepare, readAccess } from "../../infra/containers/prepare.ts";
import { chooseProfile, type Profile } from "../../infra/containers/profiles.ts";
import { SERVICE_PARSERS } from "./testing/service-parsers.ts";
import { imageOf, mountsOf, readComposeFile, ROOT } from "./testing/compose-file.ts";
import { readDockerfileEnvironment } from "./testing/dockerfile.ts";

const PROXY = join(ROOT, "infra/proxies/nginx");
/** Node's own, the programs' that are not ours, and the set-up's. */
const OTHERS = /^(?:NODE_EXTRA_CA_CERTS|HTTP_PORT|GOMEMLIMIT|GF_[A-Z_]+)$/;
const IS_FILE = /_(?:NKEY|CA|FILE|CERTS)$/;

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
  { profiles: ["full"] },
  { profiles: ["full", "s3", "observability"] },
])("with the profiles $profiles", ({ profiles }) => {
  test("every variable is known, each service parses what it is told, and finds each file that it is told of", async () => {
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

test("a profile that would leave data behind is refused once there are settings, and one that would not is taken", async () => {
  await using made = await prepared([]);
  const operator = join(made.volumes, "operator");
  for (const profile of ["full", "s3"] as const)
    await expect(chooseProfile(operator, profile)).rejects.toThrow(`made without the profile ${profile}`);
  await chooseProfile(operator, "observability");
  await prepare(made.volumes, PROXY);
  expect(made.read("delivery-config/settings.env")).toContain("OTEL_EXPORTER_OTLP_ENDPOINT=");
  expect((await readAccess(made.volumes)).apiKey).toMatch(/^rk_demo_/);
});
