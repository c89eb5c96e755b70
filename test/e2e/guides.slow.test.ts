import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { eventsOf, readDocument, ROOT } from "./testing/document.ts";
import { startPlatform } from "./testing/platform.ts";

const run = promisify(execFile);

/** Runs a line such as `npm run audit -- verify  # why` without the set-up of npm commands, and returns what it printed. */
async function runLine(line: string, options: { env: NodeJS.ProcessEnv; cwd?: string }): Promise<string> {
  const [, command, args] = /^npm run (\w+) -- (.*?) *(?:#.*)?$/.exec(line)!;
  const main = {
    audit: "services/audit-log/src/cli/main.ts",
    moderation: "services/moderation/src/cli/main.ts",
  };
  const path = join(ROOT, main[command as keyof typeof main]);
  return (await run(process.execPath, [path, ...args!.split(" ")], options)).stdout;
}

describe("docs/operations.md", () => {
  const page = readDocument("docs/operations.md");

  test("has a command that makes the platform of `npm start` read its files again", async () => {
    await using dir = await createTempDir("guides");
    await using platform = await startPlatform(join(dir.path, ".reprise"), { REPRISE_AUDIT: "off" });
    await run("bash", ["-ec", page.block("sh", "kill -HUP")], { cwd: dir.path });
    await platform.logged("configuration read again");
  });
});

describe("docs/moderation.md", () => {
  const page = readDocument("docs/moderation.md");

  test("has a policy that is accepted, a curl command that redacts, and commands that look at the result", async () => {
    await using dir = await createTempDir("guides");
    const dataDir = join(dir.path, ".reprise");
    await using platform = await startPlatform(dataDir, { REPRISE_AUDIT: "off" });
    const command = page.block("sh", "curl").replace("http://127.0.0.1:8080", platform.url);
    const { stdout } = await run("bash", ["-ec", `KEY=${platform.apiKey}\n${command}`]);
    const events = eventsOf(stdout);
    const text = events.map((event) => ("text" in event ? event.text : "")).join("");
    expect(page.text).toContain(`\`${text}\``);
    expect(events.map(({ type }) => type)).toContain("moderation.redacted");

    const policy = JSON.parse(page.block("json", '"mode": "gate"')) as object;
    const created = await fetch(`${platform.url}/v1/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sim", input: "hi", options: { tokens: 1 }, ...policy }),
    });
    expect(created.status).toBe(201);

    const env = { ...process.env, REPRISE_DATA_DIR: dataDir };
    await writeFile(join(dir.path, "rules.json"), '[{ "terms": ["that is it"] }]');
    const [coverage, rejudge, apply] = page.block("sh", "npm run").split("\n") as [string, string, string];
    await expect.poll(() => runLine(coverage, { env }), { interval: 500 }).toContain("gen_");
    expect(await runLine(rejudge, { env, cwd: dir.path })).toContain("1 decisions not appended");
    expect(await runLine(apply, { env, cwd: dir.path })).toContain("1 decisions appended");
  });
});

describe("docs/audit.md", () => {
  const page = readDocument("docs/audit.md");

  test("has commands that find what the README's curl command has made, verify it and replay it", async () => {
    await using dir = await createTempDir("guides");
    const dataDir = join(dir.path, ".reprise");
    await using platform = await startPlatform(dataDir);
    const create = readDocument("README.md")
      .block("sh", "my-first")
      .replace("http://127.0.0.1:8080", platform.url);
    const streamed = eventsOf((await run("bash", ["-ec", create], { cwd: dir.path })).stdout);
    const env = { ...process.env, REPRISE_DATA_DIR: dataDir, REPRISE_PORT: undefined };
    const [search, verify, replay] = page.block("sh", "npm run audit").split("\n") as [
      string,
      string,
      string,
    ];
    await expect.poll(() => runLine(search, { env }), { interval: 500 }).toContain("completed");
    const [id] = /gen_\w+/.exec(await runLine(search, { env }))!;
    expect(await runLine(verify, { env })).toMatch(/^fine: /m);
    expect(eventsOf(await runLine(replay.replace("gen_…", id), { env }))).toEqual(streamed);
  });
});
