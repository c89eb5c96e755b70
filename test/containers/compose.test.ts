import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { IMAGES } from "../../infra/containers/images.ts";
import { PROFILES } from "../../infra/containers/profiles.ts";
import { imageOf, mountsOf, networksOf, readComposeFile, ROOT } from "./testing/compose-file.ts";

const { services, networks, volumes } = readComposeFile();
const all = Object.entries(services);
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const dockerfile = read("Dockerfile");
const { version } = JSON.parse(read("package.json")) as { version: string };
const namesWhere = (holds: (service: (typeof services)[string]) => boolean) =>
  all.flatMap(([name, service]) => (holds(service) ? [name] : []));

test("our images are built from a target of the Dockerfile, with the version of package.json; all others have a digest", () => {
  const targets = [...dockerfile.matchAll(/^FROM service AS ([\w-]+)$/gm)].map(([, target]) => target);
  expect(targets).toEqual(IMAGES.map(({ name }) => name));
  for (const [name, service] of all) {
    const own = imageOf(service);
    if (own === undefined)
      expect([name, service.image]).toEqual([name, expect.stringMatching(/:[\w.-]+@sha256:[0-9a-f]{64}$/)]);
    else
      expect([name, service.image, service.build?.target, service.pull_policy]).toEqual([
        name,
        `localhost/reprise/${own}:${version}`,
        own,
        "build",
      ]);
  }
  expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24-[\w-]+@sha256:[0-9a-f]{64}$/m);
});

test("an image starts the first entry of its bundle, and compose one of its entries", () => {
  for (const { name, entries } of IMAGES) {
    const target = dockerfile.split(/^FROM /m).find((stage) => stage.startsWith(`service AS ${name}\n`));
    expect([name, /^CMD \["([^"]+)"/m.exec(target ?? "")?.[1]]).toEqual([name, `${entries[0]}.js`]);
    const commands = all
      .filter(([, service]) => imageOf(service) === name)
      .flatMap(([, { entrypoint = [], command = [] }]) => [...entrypoint, ...command])
      .filter((word) => word.endsWith(".js"));
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.filter((word) => !entries.includes(word.slice(0, -".js".length)))).toEqual([]);
  }
});

test("every container runs without root, without capabilities and with a root file system that can't be written", () => {
  for (const [name, { user, read_only, cap_drop, security_opt }] of all)
    expect({ name, user, read_only, cap_drop, security_opt }).toEqual({
      name,
      user: "1000:1000",
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
});

test("nginx alone has ports for others than this machine, and Grafana one for this machine", () => {
  expect(namesWhere(({ ports }) => ports !== undefined)).toEqual(["nginx", "grafana"]);
  expect(services["grafana"]?.ports).toEqual(["127.0.0.1:3000:3000"]);
  expect(services["nginx"]?.ports).toEqual(["127.0.0.1:8080:8080", "127.0.0.1:8443:8443"]);
  const internal = Object.entries(networks).flatMap(([name, network]) => (network?.internal ? [name] : []));
  expect(internal).toEqual(["front", "core", "witness"]);
});

test("nginx knows delivery's addresses, and delivery nginx's", () => {
  const addressOf = (name: string) => {
    const joined = services[name]?.networks as Record<string, { ipv4_address?: string }>;
    return joined["front"]?.ipv4_address;
  };
  expect(services["nginx"]?.extra_hosts).toEqual(
    ["delivery-1", "delivery-2"].map((name) => `${name}:${addressOf(name)}`),
  );
  for (const name of ["delivery-1", "delivery-2"])
    expect(services[name]?.environment?.["REPRISE_TRUSTED_PROXIES"]).toBe(addressOf("nginx"));
});

test("keys are in volumes of those that use them: only what makes them has all", () => {
  const holders = (volume: string) =>
    namesWhere((service) => mountsOf(service).some(({ source }) => source === volume));
  expect(holders("operator")).toEqual([
    ...PROFILES.map((profile) => `profile-${profile}`),
    "prepare",
    "hello",
  ]);
  for (const volume of Object.keys(volumes).filter((name) => name.endsWith("-config"))) {
    const others = holders(volume).filter((name) => name !== "prepare");
    const images = new Set(others.map((name) => imageOf(services[name]!) ?? name.replace(/-\d$/, "")));
    expect([volume, [...images]]).toEqual([volume, [volume.replace(/-config$/, "")]]);
    for (const name of others)
      expect(mountsOf(services[name]!).find(({ source }) => source === volume)?.modes).toContain("ro");
  }
});

test("prepare gives every volume its owner, and no other image does", () => {
  const made = /for name in ([\w\s\\-]+);/.exec(dockerfile)?.[1]?.match(/[\w-]+/g) ?? [];
  expect(made.toSorted()).toEqual(Object.keys(volumes).toSorted());
  const prepared = mountsOf(services["prepare"]!).map(({ source, target }) => [source, target]);
  expect(prepared).toEqual(Object.keys(volumes).map((name) => [name, `/volumes/${name}`]));
  for (const [name, service] of all.filter(([other]) => other !== "prepare"))
    for (const { source, target, modes } of mountsOf(service).filter((mount) => mount.source in volumes))
      expect([name, source, modes.includes("nocopy") || target === `/volumes/${source}`]).toEqual([
        name,
        source,
        true,
      ]);
});

test("a container has longer to stop than its service takes", () => {
  for (const [name, service] of all.filter(([, { restart }]) => restart === "unless-stopped")) {
    const { REPRISE_DRAIN_MS: drain, REPRISE_DRAIN_NOTICE_MS: notice = 0 } = service.environment ?? {};
    if (drain === undefined) continue;
    const graceMs = Number.parseInt(service.stop_grace_period ?? "10s", 10) * 1_000;
    expect([name, graceMs >= Number(drain) + Number(notice) + 15_000]).toEqual([name, true]);
  }
  expect(namesWhere(({ stop_signal }) => stop_signal === "SIGUSR2")).toEqual(["nats-1", "nats-2", "nats-3"]);
});

test("Prometheus has the jobs that the rules rely on, and reaches every service", () => {
  type Config = { scrape_configs: { job_name: string }[] };
  const jobsIn = (path: string) =>
    (parse(read(path)) as Config).scrape_configs.map(({ job_name }) => job_name);
  const jobs = jobsIn("infra/containers/prometheus.yml");
  // No exporter of NATS is in this project: replicas that are missing are told of by services.
  const others = jobsIn("infra/observability/prometheus.yml").filter((job) => job !== "reprise-nats");
  expect(jobs).toEqual(others);
  const asked = namesWhere((service) => jobs.includes(`reprise-${imageOf(service)}`));
  for (const name of [...asked, "prometheus"]) expect(networksOf(services[name]!)).toContain("core");
});

test("each file of the repository that a container mounts is there, and in no image", () => {
  const mounted = all
    .flatMap(([, service]) => mountsOf(service))
    .filter(({ source }) => source.startsWith("./"));
  expect(mounted.length).toBeGreaterThan(0);
  for (const { source } of mounted)
    expect([source, globSync(source, { cwd: ROOT }).length]).toEqual([source, 1]);
});
