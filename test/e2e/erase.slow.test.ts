import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "@reprise/client";
import { bundleProgram, createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startPlatform } from "./testing/platform.ts";

const SECRET = "what-nobody-may-read";
/** The archive says `erased`, of what it had begun to keep. */
const GONE = { code: expect.stringMatching(/^generation_(erased|expired)$/) as string };

const run = promisify(execFile);

/** @throws Error unless it ends with 0 */
async function audit(dir: string, ...args: string[]) {
  const command = ["--enable-source-maps", await bundleProgram("services/audit-log/src/cli/main.ts")];
  return run(process.execPath, [...command, ...args], {
    env: { PATH: process.env["PATH"], REPRISE_DATA_DIR: dir },
  });
}

async function natsUrl(dir: string): Promise<string> {
  const [file] = await readdir(join(dir, "nats", "ports"));
  const { nats } = JSON.parse(await readFile(join(dir, "nats", "ports", file!), "utf8")) as {
    nats: string[];
  };
  return nats[0]!;
}

test("a person who is erased while a model answers is gone from every answer, and no other person is", async () => {
  await using dir = await createTempDir("erase");
  await using platform = await startPlatform(dir.path);
  const { generations } = createClient(platform);
  const request = { model: "sim", input: SECRET };
  const options = { text: SECRET, tokens_per_second: 0 };
  const ended = generations.run({ ...request, subject: "ann", options });
  const other = generations.run({ ...request, subject: "bob", options });
  await Promise.all([ended.done(), other.done()]);
  const endless = { tokens: 100_000, tokens_per_second: 20 };
  const running = generations.run({ ...request, subject: "ann", options: endless });
  for await (const { seq } of running) if (seq === 10) break;
  const reader = generations.stream(running.id!, { after: running.cursor! });
  const events = reader[Symbol.asyncIterator]();
  await events.next();

  const ids = [ended.id!, running.id!];
  const person = ["--tenant", "demo", "--subject", "ann", "--reason", "asked for", "--despite-minimum"];
  const { stdout } = await audit(dir.path, "erase", ...person, "--nats", await natsUrl(dir.path));
  expect(JSON.parse(stdout)).toMatchObject({ generations: ids.toSorted() });
  while (!(await events.next()).done);
  expect(reader.status).toBe("cancelled");
  for (const id of ids) await expect(generations.get(id)).rejects.toMatchObject(GONE);
  expect(await generations.get(other.id!)).toMatchObject({ text: SECRET });
  expect((await audit(dir.path, "verify")).stdout).toMatch(/^fine: /m);
});
