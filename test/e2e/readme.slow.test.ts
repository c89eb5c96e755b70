import { execFile } from "node:child_process";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { eventsOf, readDocument, ROOT } from "./testing/document.ts";
import { startPlatform } from "./testing/platform.ts";

const README = readDocument("README.md");
const CLIENT = readDocument("packages/client/README.md");
const run = promisify(execFile);

/** A project with the packed client and what type checking takes, as `npm install` would leave it. */
async function installClient(project: string): Promise<void> {
  const modules = join(project, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
  const pack = join(ROOT, "scripts/pack/main.ts");
  const { stdout } = await run(process.execPath, [pack], {
    env: { ...process.env, REPRISE_DATA_DIR: project },
  });
  const file = stdout.split("\n").find((path) => path.includes("reprise-client-")) ?? "";
  await run("tar", ["-xzf", file, "-C", project]);
  await mkdir(join(modules, "@reprise"));
  await rename(join(project, "package"), join(modules, "@reprise/client"));
  for (const name of ["zod", "@types/node", "undici-types"])
    await symlink(join(ROOT, "node_modules", name), join(modules, name));
}

describe("the README", () => {
  test("has a curl command that creates and streams; sent again it joins, and with an id it resumes", async () => {
    await using dir = await createTempDir("readme");
    await using platform = await startPlatform(join(dir.path, ".reprise"));
    const command = README.block("sh", "my-first").replace("http://127.0.0.1:8080", platform.url);
    const curl = async (addition = "") => {
      const script = `${command.trimEnd()} ${addition}`;
      return eventsOf((await run("bash", ["-ec", script], { cwd: dir.path })).stdout);
    };
    const first = await curl();
    expect(first.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 200 } });
    expect(await curl()).toEqual(first);
    expect(README.text).toContain('Add `-H "Last-Event-ID: <an id you saw>"`');
    expect(await curl(`-H "Last-Event-ID: ${first[4]!.id}"`)).toEqual(first.slice(5));
  });

  test("and the client's have programs that pass strict type checks outside the repository, print what the model says and answer a tool call", async () => {
    await using dir = await createTempDir("readme");
    await using platform = await startPlatform(join(dir.path, ".reprise"));
    const project = join(dir.path, "project");
    await installClient(project);
    const programs = {
      "program.mts": README.block("ts", "createClient"),
      "tools.ts": CLIENT.block("ts", "look_up"),
    };
    for (const [file, code] of Object.entries(programs))
      await writeFile(join(project, file), code.replace("http://127.0.0.1:8080", platform.url));
    const tsc = join(ROOT, "node_modules/@typescript/native/bin/tsc");
    const strict = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node"];
    const checked = await run(process.execPath, [tsc, ...strict, ...Object.keys(programs)], { cwd: project });
    expect(checked.stdout).toBe("");
    const env = { ...process.env, KEY: platform.apiKey };
    const start = async (file: string) => (await run(process.execPath, [file], { cwd: project, env })).stdout;
    expect(await start("program.mts")).toMatch(
      /^\S+ \S+[\s\S]*completed { input_tokens: \d+, output_tokens: 64 } 1\.[0-9a-f]{6}-\d+\n$/,
    );
    expect(await start("tools.ts")).toMatch(/status: 'completed'[\s\S]*output_tokens: 64 }/);
  });
});
