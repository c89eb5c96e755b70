import { execFile } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { lockDataDir } from "./data-dir-lock.ts";

const run = promisify(execFile);

describe("the lock of a data folder", () => {
  test("a folder that is held is refused, with its holder's process id", async () => {
    await using dir = await createTempDir("lock");
    await using held = await lockDataDir(dir.path);
    expect(held).toBeDefined();
    await expect(lockDataDir(dir.path)).rejects.toMatchObject({
      code: "config_invalid",
      param: "REPRISE_DATA_DIR",
      message: `The data folder ${dir.path} is in use by process ${process.pid}: set REPRISE_DATA_DIR to another folder.`,
    });
  });

  test("what a killed process left behind is taken over", async () => {
    await using dir = await createTempDir("lock");
    const module = JSON.stringify(new URL("./data-dir-lock.ts", import.meta.url).href);
    const code = `await (await import(${module})).lockDataDir(${JSON.stringify(dir.path)}); process.kill(process.pid, "SIGKILL")`;
    await expect(run(process.execPath, ["--input-type=module", "--eval", code])).rejects.toMatchObject({
      signal: "SIGKILL",
    });
    expect(await readFile(join(dir.path, "lock"), "utf8")).toMatch(/^\d+ \S/);
    await using taken = await lockDataDir(dir.path);
    expect(taken).toBeDefined();
  });

  test("a dead holder's process id that another process has by now is no holder", async () => {
    await using dir = await createTempDir("lock");
    await writeFile(join(dir.path, "lock"), `${process.ppid} 1\n`);
    await using taken = await lockDataDir(dir.path);
    expect(taken).toBeDefined();
    expect(await readFile(join(dir.path, "lock"), "utf8")).toMatch(new RegExp(`^${process.pid} `));
  });

  test.each(["no lock", "a dead process's lock"])(
    "of many that start at once on %s, one gets it",
    async (found) => {
      await using dir = await createTempDir("lock");
      const path = join(dir.path, "lock");
      for (let round = 0; round < 25; round++) {
        await (found === "no lock" ? rm(path, { force: true }) : writeFile(path, `${process.ppid} 1\n`));
        const starts = Array.from({ length: 8 }, () => lockDataDir(dir.path));
        const ends = await Promise.allSettled(starts);
        expect(ends.map(({ status }) => status).toSorted()).toEqual([
          "fulfilled",
          ...Array<string>(7).fill("rejected"),
        ]);
      }
      expect(await readdir(dir.path)).toEqual(["lock"]);
    },
  );

  test("a process that died while it took over a lock keeps no other out", async () => {
    await using dir = await createTempDir("lock");
    await writeFile(join(dir.path, "lock"), `${process.ppid} 1\n`);
    await writeFile(join(dir.path, "lock.takeover"), `${process.ppid} 2\n`);
    await using taken = await lockDataDir(dir.path);
    expect(taken).toBeDefined();
    expect(await readdir(dir.path)).toEqual(["lock"]);
  });

  test.each(["", "not a lock", "0 0"])("a file that is no lock is replaced: %j", async (text) => {
    await using dir = await createTempDir("lock");
    await writeFile(join(dir.path, "lock"), text);
    await using taken = await lockDataDir(dir.path);
    expect(taken).toBeDefined();
    expect(await readFile(join(dir.path, "lock"), "utf8")).toMatch(new RegExp(`^${process.pid} `));
  });
});
