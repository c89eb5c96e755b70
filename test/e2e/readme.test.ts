import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { parseModelsFile } from "@reprise/inference-worker";
import { createSseDecoder, decodeEvent } from "@reprise/protocol";
import { ENVIRONMENT_TABLE } from "@reprise/service";
import { parseTenantsFile } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { startPlatform } from "./testing/platform.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const run = promisify(execFile);

/** The one code block of a language that holds a text. */
function block(language: string, holding: string): string {
  const blocks = [...README.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, name, code]) => name === language && code!.includes(holding))
    .map(([, , code]) => code!);
  expect(blocks, `one ${language} block with ${holding}`).toHaveLength(1);
  return blocks[0]!;
}

/** A project with the packed client and what type checking takes, as `npm install` would leave it. */
async function installClient(project: string): Promise<void> {
  const modules = join(project, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
  const pack = join(ROOT, "scripts/pack/main.ts");
  const { stdout } = await run(process.execPath, [pack], {
    env: { ...process.env, REPRISE_DATA_DIR: project },
  });
  await run("tar", ["-xzf", stdout.trim(), "-C", project]);
  await mkdir(join(modules, "@reprise"));
  await rename(join(project, "package"), join(modules, "@reprise/client"));
  for (const name of ["zod", "@types/node", "undici-types"])
    await symlink(join(ROOT, "node_modules", name), join(modules, name));
}

/** The events in what curl printed. */
function eventsOf(stdout: string) {
  return createSseDecoder()
    .push(Buffer.from(stdout))
    .filter(({ data }) => data !== "")
    .map(({ id, data }) => ({ id, ...decodeEvent(data) }));
}

describe("the README", () => {
  test("its curl command creates and streams; sent again it joins, and with an id it resumes", async () => {
    await using dir = await createTempDir("readme");
    await using platform = await startPlatform(join(dir.path, ".reprise"));
    const command = block("sh", "my-first").replace("http://127.0.0.1:8080", platform.url);
    const curl = async (addition = "") => {
      const script = `${command.trimEnd()} ${addition}`;
      return eventsOf((await run("bash", ["-ec", script], { cwd: dir.path })).stdout);
    };
    const first = await curl();
    expect(first.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 200 } });
    expect(await curl()).toEqual(first);
    expect(README).toContain('Add `-H "Last-Event-ID: <an id you saw>"`');
    expect(await curl(`-H "Last-Event-ID: ${first[4]!.id}"`)).toEqual(first.slice(5));
  });

  test("its curl command with moderation shows no card number, and tells what was withdrawn", async () => {
    await using dir = await createTempDir("readme");
    await using platform = await startPlatform(join(dir.path, ".reprise"));
    const { apiKey: key } = platform;
    const command = block("sh", '"mode": "gate"').replace("http://127.0.0.1:8080", platform.url);
    const { stdout } = await run("bash", ["-ec", `KEY=${key}\n${command}`], { cwd: dir.path });
    const events = eventsOf(stdout);
    const text = events.map((event) => ("text" in event ? event.text : "")).join("");
    expect(text).toBe("My card is [redacted], and that is it.");
    expect(events.map(({ type }) => type)).toContain("moderation.redacted");
  });

  test("its commands of the audit log find what its curl command has made, verify it and replay it", async () => {
    await using dir = await createTempDir("readme");
    const dataDir = join(dir.path, ".reprise");
    await using platform = await startPlatform(dataDir);
    const create = block("sh", "my-first").replace("http://127.0.0.1:8080", platform.url);
    const streamed = eventsOf((await run("bash", ["-ec", create], { cwd: dir.path })).stdout);
    const env = { ...process.env, REPRISE_DATA_DIR: dataDir, REPRISE_PORT: undefined };
    const audit = async (line: string) => {
      const [, args] = /^npm run audit -- (.*?) *(?:#.*)?$/.exec(line)!;
      const main = join(ROOT, "services/audit-log/src/cli/main.ts");
      return (await run(process.execPath, [main, ...args!.split(" ")], { env })).stdout;
    };
    const [search, verify, replay] = block("sh", "npm run audit").split("\n") as [string, string, string];
    await expect.poll(() => audit(search), { interval: 500 }).toContain("completed");
    const [id] = /gen_\w+/.exec(await audit(search))!;
    expect(await audit(verify)).toMatch(/^fine: /m);
    expect(eventsOf(await audit(replay.replace("gen_…", id)))).toEqual(streamed);
  });

  test("its programs pass strict type checks outside the repository, print what the model says and answer a tool call", async () => {
    await using dir = await createTempDir("readme");
    await using platform = await startPlatform(join(dir.path, ".reprise"));
    const project = join(dir.path, "project");
    await installClient(project);
    const program = `${block("ts", "createClient")}\n${block("ts", "look_up")}`;
    await writeFile(join(project, "program.ts"), program.replace("http://127.0.0.1:8080", platform.url));
    const tsc = join(ROOT, "node_modules/@typescript/native/bin/tsc");
    const strict = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node"];
    expect((await run(process.execPath, [tsc, ...strict, "program.ts"], { cwd: project })).stdout).toBe("");
    const env = { ...process.env, KEY: platform.apiKey };
    const { stdout } = await run(process.execPath, ["program.ts"], { cwd: project, env });
    expect(stdout).toMatch(
      /\S+ \S+[\s\S]*completed { input_tokens: \d+, output_tokens: 64 } 1\.[0-9a-f]{6}-\d+\n{/,
    );
    expect(stdout).toMatch(/status: 'completed'[\s\S]*output_tokens: 64 }/);
  });

  test("its models file is one", () => {
    const models = parseModelsFile(block("json", '"models"'), {
      source: "README.md",
      env: { VLLM_API_KEY: "secret" },
    });
    expect(models.get("llama")).toMatchObject({
      engine: "openai",
      openai: { baseUrl: "http://127.0.0.1:8000/v1", apiKey: "secret" },
    });
    const asked = [...README.matchAll(/"?model"?: "(\w+)"/g)].map(([, name]) => name!);
    expect(asked.filter((name) => !models.has(name))).toEqual([]);
  });

  test("its tenants file is one, once it has a real hash", () => {
    const file = block("json", '"tenants"').replace("<hex of the secret's SHA-256>", "0".repeat(64));
    expect(parseTenantsFile(file, "README.md").tenants).toMatchObject([
      { id: "acme", policy: { max_attempts: 2, on_worker_loss: "continue" } },
    ]);
  });

  test("its table of the environment is the one that processes go by, in both directions", () => {
    const rows = [...README.matchAll(/^\| `(REPRISE_\w+)` \| (?:`(.*?)`)? *\| (.*) \|$/gm)].map(
      ([, name, fallback, meaning]) => ({ name, default: fallback, meaning }),
    );
    expect(rows).toEqual(ENVIRONMENT_TABLE);
  });

  test("it names no variable, npm command or file that does not exist", () => {
    const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));
    const variables = [...README.matchAll(/REPRISE_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name);
    expect(variables.filter((name) => !known.has(name))).toEqual([]);

    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const commands = [...README.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);

    const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path!);
    expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
