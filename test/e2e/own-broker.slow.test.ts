import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "@reprise/client";
import { connectBroker } from "@reprise/broker";
import { bundleProgram, createTempDir, readCommandLine } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PlatformProcess, readNatsPid, startPlatform } from "./testing/platform.ts";

const run = promisify(execFile);

const stack = new AsyncDisposableStack();
let dir: string;
let platform: PlatformProcess;
beforeAll(async () => {
  dir = stack.use(await createTempDir("own-broker")).path;
  platform = stack.use(await startPlatform(dir));
});
afterAll(() => stack.disposeAsync());

async function ownUrl(): Promise<URL> {
  const { url } = JSON.parse(await readFile(join(dir, "nats.json"), "utf8")) as { url: string };
  return new URL(url);
}

describe("the NATS server that the platform starts", () => {
  test("lets in processes with the credentials of this start, and no other process of the machine", async () => {
    const { href, host } = await ownUrl();
    await using _ = await connectBroker({ url: href, name: "owner" });
    for (const login of ["", "reprise@", "reprise:wrong@"])
      await expect(connectBroker({ url: `nats://${login}${host}`, name: "stranger" })).rejects.toMatchObject({
        message: expect.stringContaining("refuses the credentials"),
      });
  });

  test("has credentials of its own at every start", async () => {
    const { password } = await ownUrl();
    await using other = await createTempDir("own-broker");
    await using _ = await startPlatform(other.path);
    const next = JSON.parse(await readFile(join(other.path, "nats.json"), "utf8")) as { url: string };
    expect(new URL(next.url).password).not.toBe(password);
  });

  test("keeps them out of logs, command lines and files that others can read", async () => {
    const { password } = await ownUrl();
    expect(password.length).toBeGreaterThan(20);
    expect(JSON.stringify(platform.lines)).not.toContain(password);
    for (const pid of [platform.pid, await readNatsPid(dir)])
      expect(await readCommandLine(pid)).not.toContain(password);
    const modeOf = async (name: string) => ((await stat(join(dir, name))).mode & 0o777).toString(8);
    const folders = ["", "nats", "audit", "audit-keys"];
    expect(await Promise.all(folders.map(modeOf))).toEqual(folders.map(() => "700"));
    for (const name of await readdir(dir, { recursive: true, withFileTypes: true })) {
      const path = join(name.parentPath, name.name);
      const isSecret = name.isFile() && (await readFile(path)).includes(password);
      if (isSecret) expect(`${path} ${((await stat(path)).mode & 0o777).toString(8)}`).toBe(`${path} 600`);
    }
    expect(await modeOf("dev.json")).toBe("600");
  });

  test("is entered by the commands beside it without a step by hand", async () => {
    const { generations } = createClient(platform);
    const ended = generations.run({
      model: "sim",
      input: "Hi",
      options: { tokens: 3, tokens_per_second: 0 },
    });
    await ended.done();
    const env = { PATH: process.env["PATH"], REPRISE_DATA_DIR: dir };
    const which = ["--tenant", "demo", "--generation", ended.id!];
    const moderation = ["--enable-source-maps", await bundleProgram("services/moderation/src/cli/main.ts")];
    const { stdout } = await run(process.execPath, [...moderation, "coverage", ...which], { env });
    expect(stdout).toContain("0 moderated generations");
    const nats = `nats://${(await ownUrl()).host}`;
    const audit = ["--enable-source-maps", await bundleProgram("services/audit-log/src/cli/main.ts")];
    const args = [...audit, "search", "--tenant", "demo", "--nats", nats];
    const search = await run(process.execPath, args, { env });
    expect(search.stderr).not.toContain("recorded nowhere");
  });
});
