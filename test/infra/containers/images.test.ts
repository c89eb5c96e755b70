import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMAGES } from "../../../infra/containers/images.ts";
import { NATS_IMAGE } from "./testing/base-images.ts";
import { docker, ROOT } from "./testing/docker.ts";
import { type BuiltImages, buildImages, imageName } from "./testing/images.ts";

interface Inspected {
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
    readonly Healthcheck?: { readonly Test: readonly string[] };
  };
}

const MB = 1_000_000;
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const WITH_DUCKDB = ["audit-log", "analytics"];

let built: BuiltImages;
beforeAll(async () => {
  built = await buildImages();
}, 1_800_000);

/** As an orchestrator that trusts nothing runs it. */
const RESTRICTED = [
  "run",
  "--rm",
  "--read-only",
  "--network=none",
  "--cap-drop=ALL",
  "--security-opt=no-new-privileges",
];

async function filesOf(image: string): Promise<string[]> {
  const container = await docker(["create", image]);
  try {
    // The list of a tar of all files: the image has nothing that could list them.
    const { stdout } = await (
      await import("../../../scripts/pack/run.ts")
    ).run("sh", ["-c", `docker export ${container} | tar --list`]);
    return stdout.split("\n");
  } finally {
    await docker(["rm", container]);
  }
}

describe.each(IMAGES.map(({ name }) => name))("reprise/%s", (name) => {
  const image = imageName(name);

  test("starts Node as the user 1000, and says what it is", async () => {
    const [inspected] = JSON.parse(await docker(["image", "inspect", image])) as Inspected[];
    const { User, Entrypoint, Labels, Healthcheck } = inspected!.Config;
    expect({ User, Entrypoint }).toEqual({ User: "1000:1000", Entrypoint: ["/usr/local/bin/node"] });
    expect(Labels).toMatchObject({
      "org.opencontainers.image.title": `reprise/${name}`,
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": built.revision,
    });
    expect(Healthcheck?.Test.slice(0, 2)).toEqual(
      name === "set-up" ? ["NONE"] : ["CMD", "/usr/local/bin/node"],
    );
    process.stdout.write(`${image}: ${(inspected!.Size / MB).toFixed(0)} MB\n`);
    expect(inspected!.Size).toBeLessThan((WITH_DUCKDB.includes(name) ? 250 : 200) * MB);
  });

  test("holds no shell, no package manager, nothing of tests, and DuckDB only where it is used", async () => {
    const files = await filesOf(image);
    expect(files).toContain("usr/local/bin/node");
    expect(files.filter((path) => /\/(?:sh|bash|dash|busybox|npm|apt|dpkg)$/.test(path))).toEqual([]);
    expect(files.filter((path) => /testcontainers|playwright|vitest|testkit|\.test\./.test(path))).toEqual(
      [],
    );
    expect(files.some((path) => path.includes("duckdb"))).toBe(WITH_DUCKDB.includes(name));
  });

  test("has its bill of materials and the licences of what is in it", async () => {
    const read = (path: string) =>
      docker([
        ...RESTRICTED,
        image,
        "-e",
        `process.stdout.write(require("fs").readFileSync("${path}", "utf8"))`,
      ]);
    const sbom = JSON.parse(await read("sbom.cdx.json")) as {
      bomFormat: string;
      metadata: { component: { purl: string } };
      components: { name: string }[];
    };
    expect([sbom.bomFormat, sbom.metadata.component.purl]).toEqual([
      "CycloneDX",
      `pkg:npm/reprise-${name}@${version}`,
    ]);
    const names = sbom.components.map((component) => component.name);
    expect(names).toEqual(expect.arrayContaining(["zod"]));
    expect(names.filter((component) => /testcontainers|playwright|vitest/.test(component))).toEqual([]);
    expect(await read("LICENCES")).toMatch(/Apache License[\s\S]+\nzod [\d.]+, MIT\n/);
  });

  test("runs on a root file system that can't be written, without network or capabilities", async () => {
    const needed = name === "witness" ? "REPRISE_WITNESS_LOGS" : "REPRISE_NATS_URL";
    await expect(docker([...RESTRICTED, image])).rejects.toThrow(`${needed} is missing`);
    const write = 'require("fs").writeFileSync("/reprise/x", "")';
    await expect(docker([...RESTRICTED, image, "-e", write])).rejects.toThrow("EROFS");
  });
});

test.each(WITH_DUCKDB)("DuckDB runs in reprise/%s", async (name) => {
  const ask = `
    const { DuckDBInstance } = await import("/reprise/node_modules/@duckdb/node-api/lib/index.js");
    const reader = await (await (await DuckDBInstance.create(":memory:")).connect()).runAndReadAll("select 42 as answer");
    console.log(reader.getRows()[0][0]);`;
  expect(await docker([...RESTRICTED, imageName(name), "--input-type=module", "-e", ask])).toBe("42");
});

test("the commands that are beside a service run too", async () => {
  const help = async (name: string) =>
    docker([...RESTRICTED, imageName(name), `services/${name}/src/cli/main.js`, "--help"]);
  expect(await help("delivery")).toContain("reprise-admin");
  expect(await help("audit-log")).toContain("reprise-audit");
  expect(await help("analytics")).toContain("reprise-usage");
});

describe("as a container's first process", () => {
  const VKEY = "reprise+20c263dc+AUAd8StMsMhbktOlR3mjp4YBhxBmejlCeyhRSertDmk6";
  const SERVICES = IMAGES.map(({ name }) => name).filter((name) => name !== "set-up");
  const TMPFS = ["--tmpfs", "/data:uid=1000,gid=1000", "--tmpfs", "/tmp"];
  const remove = async (container: string) => void (await docker(["rm", "--force", container]));

  /** A container of the image whose address of the broker is its own. */
  async function start(name: string) {
    const env = { REPRISE_NATS_URL: "nats://127.0.0.1:4222", REPRISE_WITNESS_LOGS: VKEY };
    const settings = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const limits = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", ...TMPFS];
    const place = ["--network", `container:${broker}`, "--health-interval=1s"];
    const args = ["--detach", ...limits, ...place, ...settings, imageName(name)];
    const container = await docker(["run", ...args]);
    return { container, [Symbol.asyncDispose]: () => remove(container) };
  }

  let broker: string;
  beforeAll(async () => {
    const config = "max_payload: 8MB, jetstream: { store_dir: /data }";
    const command = `echo '${config}' >/tmp/nats.conf && exec nats-server --config /tmp/nats.conf`;
    const entry = ["--entrypoint", "sh", NATS_IMAGE, "-c", command];
    broker = await docker(["run", "--detach", "--network", "none", ...entry]);
  });
  afterAll(() => remove(broker));

  const healthOf = (container: string) =>
    docker(["inspect", "--format", "{{.State.Health.Status}}", container]);

  test("reprise/set-up ends by itself, with 0", async () => {
    await using setUp = await start("set-up");
    expect(await docker(["wait", setUp.container])).toBe("0");
    expect(await docker(["logs", setUp.container])).toContain("The streams are there");
  });

  test.each(SERVICES)("reprise/%s is healthy by its own check, and ends with 0 at SIGTERM", async (name) => {
    await using service = await start(name);
    await expect.poll(() => healthOf(service.container)).toBe("healthy");
    await docker(["kill", "--signal", "SIGTERM", service.container]);
    expect(await docker(["wait", service.container])).toBe("0");
    expect(await docker(["logs", service.container])).toContain('"msg":"stopped"');
  });

  test.each(SERVICES)("the check of reprise/%s fails where no process answers it", async (name) => {
    const [inspected] = JSON.parse(await docker(["image", "inspect", imageName(name)])) as Inspected[];
    const check = inspected!.Config.Healthcheck!.Test.slice(2);
    await expect(docker([...RESTRICTED, imageName(name), ...check])).rejects.toThrow("ECONNREFUSED");
  });
});
