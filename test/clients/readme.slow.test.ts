import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSeededRandom, createTempDir } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDocument, ROOT } from "../e2e/testing/document.ts";
import { type Platform, startPlatform } from "./testing/platform.ts";

const README = readDocument("README.md");
const HERE = "http://127.0.0.1:8080";
const run = promisify(execFile);

let platform: Platform;
beforeAll(async () => (platform = await startPlatform()));
afterAll(async () => platform?.[Symbol.asyncDispose]());

/** A folder outside the repository with the packages that a program imports, as `npm install` would leave it. */
async function createProject(code: string, packages: readonly string[]) {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await createTempDir("readme-clients"));
  await writeFile(join(path, "package.json"), JSON.stringify({ type: "module" }));
  for (const name of packages) {
    await mkdir(join(path, "node_modules", name, ".."), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), join(path, "node_modules", name));
  }
  await writeFile(join(path, "program.mts"), code.replaceAll(HERE, platform.url));
  const kept = stack.move();
  return { path, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Runs a program of the README while connections are cut, and returns its output. */
async function printed(code: string, packages: readonly string[], cut: () => void): Promise<string> {
  await using project = await createProject(code, packages);
  cut();
  const env = { ...process.env, KEY: platform.key() };
  return (await run(process.execPath, ["program.mts"], { cwd: project.path, env })).stdout;
}

/** Connections that end within the stream: after its head and its first frames, before the last of some 64. */
const cutSome = () => platform.cutNext(createSeededRandom(7), { count: 3, from: 2_500, to: 5_000 });
const cutNone = () => {};

describe("the README's", () => {
  test("curl command joins what it has created when it is sent again", async () => {
    const before = await platform.runs();
    const command = README.block("sh", "my-chat").replace(HERE, platform.nodes[0]);
    const env = { ...process.env, KEY: platform.key() };
    const curl = async () => (await run("bash", ["-ec", command], { env })).stdout;
    const first = await curl();
    expect(first).toContain("data: [DONE]");
    const second = await curl();
    expect(second).toBe(first);
    expect(await platform.runs()).toBe(before + 1);
  });

  test.each([
    ["OpenAI's SDK", "openai.responses", ["openai"]],
    ["TanStack AI", "ChatClient", ["@tanstack/ai-client"]],
  ])("program for %s says the same when its connections are cut, in one run", async (_, name, packages) => {
    const code = README.block("ts", name);
    const before = await platform.runs();
    const whole = await printed(code, packages, cutNone);
    expect(whole.length).toBeGreaterThan(300);
    const cuts = platform.cuts;
    expect(await printed(code, packages, cutSome)).toBe(whole);
    expect(platform.cuts).toBeGreaterThan(cuts);
    expect(await platform.runs()).toBe(before + 2);
  });
});
