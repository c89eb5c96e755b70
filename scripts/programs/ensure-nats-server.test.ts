import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { NATS_SERVER, type Release } from "../releases/releases.ts";
import { ensureNatsServer } from "./ensure-nats-server.ts";
import type { Machine } from "./machine.ts";

const FEDORA: Machine = { platform: "linux", arch: "x64", ids: ["fedora"], major: 44 };
const MACOS: Machine = { platform: "darwin", arch: "arm64", ids: [], major: undefined };

let said: string[];

beforeEach(() => {
  said = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void said.push(line));
  vi.stubEnv("REPRISE_NATS_SERVER", undefined);
});

afterEach(() => vi.unstubAllEnvs());

async function install(dir: string, version: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, "nats-server");
  await writeFile(path, `#!/bin/sh\necho 'nats-server: v${version}'\n`, { mode: 0o755 });
  return path;
}

/** A folder for PATH with what unpacks an archive, and without the nats-server that this machine may have beside it. */
async function toolsOnly(dir: string): Promise<string> {
  const tools = join(dir, "tools");
  await mkdir(tools);
  for (const name of ["tar", "gzip"])
    await symlink(execFileSync("which", [name], { encoding: "utf8" }).trim(), join(tools, name));
  return tools;
}

/** The release's archive as a server gives it, with the sum of these very bytes. */
async function publish(dir: string, version: string): Promise<{ release: Release; archive: Buffer }> {
  await install(join(dir, "published"), version);
  execFileSync("tar", ["-czf", join(dir, "archive"), "-C", dir, "published"]);
  const archive = await readFile(join(dir, "archive"));
  const sum = createHash("sha256").update(archive).digest("hex");
  return { release: { ...NATS_SERVER, sha256: { "linux-amd64": sum } }, archive };
}

async function serve(body: Buffer | string): Promise<string[]> {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  vi.stubEnv("REPRISE_DOWNLOAD_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return asked;
}

test("a nats-server on PATH that is new enough is used, and no server is asked", async () => {
  await using dir = await createTempDir("ensure");
  const asked = await serve("");
  const onPath = await install(join(dir.path, "path"), "2.12.0");
  vi.stubEnv("PATH", join(dir.path, "path"));
  expect(await ensureNatsServer(dir.path, { machine: FEDORA })).toBe(onPath);
  expect([asked, said]).toEqual([[], []]);
});

test("without one, or with one that is too old, the release is fetched from where the environment says, once", async () => {
  await using dir = await createTempDir("ensure");
  const { release, archive } = await publish(dir.path, NATS_SERVER.version);
  const asked = await serve(archive);
  await install(join(dir.path, "path"), "2.10.7");
  const fetched = join(dir.path, "data", "bin", "nats-server");
  const ensure = () => ensureNatsServer(join(dir.path, "data"), { release, machine: FEDORA });
  vi.stubEnv("PATH", `${join(dir.path, "path")}:${await toolsOnly(dir.path)}`);
  expect([await ensure(), await ensure()]).toEqual([fetched, fetched]);
  expect(asked).toEqual([`/${NATS_SERVER.archive("linux-amd64")}`]);
  expect(said).toEqual([expect.stringMatching(/^Fetching nats-server 2\.15\.0 from 127\.0\.0\.1:\d+…$/)]);
});

test("a file that is not the release is not installed, and the command that is said gets another", async () => {
  await using dir = await createTempDir("ensure");
  await serve("not the release");
  vi.stubEnv("PATH", await toolsOnly(dir.path));
  const attempt = (machine: Machine) => ensureNatsServer(join(dir.path, "data"), { machine });
  await expect(attempt(FEDORA)).rejects.toThrow(/is not the pinned release\.\n.*\n {2}GOBIN=.* go install /);
  await expect(attempt(MACOS)).rejects.toThrow(
    /is not the pinned release\.\n.*\n {2}brew install nats-server$/,
  );
});

test("a platform without a pinned release is refused with the command that installs one", async () => {
  await using dir = await createTempDir("ensure");
  const asked = await serve("");
  vi.stubEnv("PATH", await toolsOnly(dir.path));
  const machine = { ...FEDORA, arch: "riscv64" };
  await expect(ensureNatsServer(join(dir.path, "data"), { machine })).rejects.toThrow(
    /can't be fetched: nats-server 2\.15\.0 is not pinned for linux-riscv64\.\n.*\n {2}GOBIN=.* go install /,
  );
  expect(asked).toEqual([]);
});

test("a named binary is used or refused, and nothing is fetched in its place", async () => {
  await using dir = await createTempDir("ensure");
  const asked = await serve("");
  vi.stubEnv("REPRISE_NATS_SERVER", await install(dir.path, "2.10.7"));
  await expect(ensureNatsServer(dir.path, { machine: FEDORA })).rejects.toThrow("is 2.10.7");
  expect(asked).toEqual([]);
});
