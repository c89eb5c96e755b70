import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLogger } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { LOG } from "@reprise/archive/testing";
import { startOwnWitness, readEnd } from "./own-witness.ts";
import { Readable } from "node:stream";

/** The processes that have this folder for their witness's: the witness, not what supervises it. */
async function witnessesOf(dir: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [environment, command] = await Promise.all(
      ["environ", "cmdline"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
    );
    if (environment!.includes(`REPRISE_WITNESS_DIR=${dir}\0`) && command!.includes("witness/src/main.ts"))
      if (!command!.startsWith("/bin/sh")) found.push(Number(pid));
  }
  return found;
}

const isThere = async (url: string) =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

// A witness is known by its environment, which only Linux shows.
test.runIf(process.platform === "linux")(
  "a witness that has died is reported and restarted where it was, and ends with its parent",
  async () => {
    await using folder = await createTempDir("own-witness");
    const dir = join(folder.path, "witness");
    const told: string[] = [];
    const logger = createLogger({
      service: "test",
      level: "info",
      destination: { write: (line) => told.push(line) },
    });
    const path = process.env["PATH"] ?? "";
    const witness = startOwnWitness({ dir, name: "w", logs: [LOG.vkey], path, logger, retryMs: 1 });
    const url = await witness.url;
    expect(await isThere(url)).toBe(true);
    const [first] = await witnessesOf(dir);
    process.kill(first!, "SIGKILL");
    await expect.poll(() => told.join("")).toContain("has ended by itself");
    await expect.poll(() => isThere(url)).toBe(true);
    const again = await witnessesOf(dir);
    expect([again.length, again.includes(first!)]).toEqual([1, false]);

    await witness[Symbol.asyncDispose]();
    expect(await witnessesOf(dir)).toEqual([]);
    expect(told.filter((line) => line.includes("has ended by itself"))).toHaveLength(1);
  },
);

test("a witness whose process can't be made is tried again, and nothing else fails of it", async () => {
  const told: string[] = [];
  const logger = createLogger({
    service: "test",
    level: "error",
    destination: { write: (line) => told.push(line) },
  });
  // No process takes a value like this.
  const options = { dir: "\0", name: "w", logs: [LOG.vkey], path: "", logger, retryMs: 1 };
  await using _ = startOwnWitness(options);
  await expect.poll(() => told.length).toBeGreaterThan(1);
  expect(told[0]).toContain("it is started again");
});

test("no more than the end of what a stream says is kept", async () => {
  const said = Array.from({ length: 1_000 }, (_, i) => Buffer.from(`line ${i} of what went wrong: é\n`));
  const end = await readEnd(Readable.from(said), 100);
  expect(Buffer.concat(said).toString().endsWith(end)).toBe(true);
  expect(end).toHaveLength(100);
  expect(await readEnd(Readable.from([Buffer.from("short")]), 100)).toBe("short");
});
