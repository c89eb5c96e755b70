import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { IMAGES } from "../../../infra/containers/images.ts";
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
});

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

describe("a container's first process", () => {
  const VKEY = "reprise+20c263dc+AUAd8StMsMhbktOlR3mjp4YBhxBmejlCeyhRSertDmk6";
  const startWitness = async (...options: readonly string[]) => {
    const tmpfs = ["--tmpfs", "/data:uid=1000,gid=1000"];
    const env = ["--env", `REPRISE_WITNESS_LOGS=${VKEY}`];
    const args = ["--detach", "--read-only", ...tmpfs, ...env, ...options, imageName("witness")];
    const container = await docker(["run", ...args]);
    await expect.poll(() => docker(["logs", container])).toContain("witnessing");
    return {
      container,
      [Symbol.asyncDispose]: async () => void (await docker(["rm", "--force", container])),
    };
  };

  test("is told healthy by its own check, and ends well at SIGTERM", async () => {
    await using witness = await startWitness("--health-interval=1s");
    const health = () => docker(["inspect", "--format", "{{.State.Health.Status}}", witness.container]);
    await expect.poll(health).toBe("healthy");
    await docker(["kill", "--signal", "SIGTERM", witness.container]);
    expect(await docker(["wait", witness.container])).toBe("0");
    expect(await docker(["logs", witness.container])).toContain('"msg":"stopped"');
  });
});
