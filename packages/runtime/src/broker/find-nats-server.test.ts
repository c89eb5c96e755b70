import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findNatsServer } from "./find-nats-server.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "reprise-find-"));
});

afterEach(() => rm(root, { recursive: true }));

/** An executable that answers every question with one line. */
async function install(dir: string, says: string): Promise<string> {
  await mkdir(join(root, dir), { recursive: true });
  const path = join(root, dir, "nats-server");
  await writeFile(path, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
  return path;
}

describe("the search for a nats-server", () => {
  test("takes the one that REPRISE_NATS_SERVER names before any other", async () => {
    const named = await install("named", "nats-server: v2.12.3");
    await install("path", "nats-server: v2.15.1");
    const found = await findNatsServer({ REPRISE_NATS_SERVER: named, PATH: join(root, "path") }, root);
    expect(found).toEqual({ path: named, version: "2.12.3" });
  });

  test("passes over one on PATH that is too old for a newer one in the data folder", async () => {
    await install("path", "nats-server: v2.9.10");
    const kept = await install("data/bin", "nats-server: v2.100.0");
    const found = await findNatsServer({ PATH: join(root, "path") }, join(root, "data"));
    expect(found).toEqual({ path: kept, version: "2.100.0" });
  });

  test("refuses a named one that is too old, even beside a newer one", async () => {
    const named = await install("named", "nats-server: v2.11.9");
    await install("path", "nats-server: v2.15.1");
    const search = findNatsServer({ REPRISE_NATS_SERVER: named, PATH: join(root, "path") }, root);
    await expect(search).rejects.toMatchObject({
      code: "config_invalid",
      param: "REPRISE_NATS_SERVER",
      message: expect.stringMatching(/needs nats-server 2\.12\.0 or newer: .*named\/nats-server is 2\.11\.9/),
    });
  });

  test("says so when a candidate is something else", async () => {
    const named = await install("named", "hello");
    await expect(findNatsServer({ REPRISE_NATS_SERVER: named }, root)).rejects.toThrow(
      "is not a nats-server that runs here",
    );
  });

  test("names the places that it tried when there is none", async () => {
    await expect(findNatsServer({}, root)).rejects.toThrow(
      `there is none on PATH or in ${join(root, "bin")}`,
    );
  });
});
