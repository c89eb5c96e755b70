import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { ensurePrivateDir } from "./private-dir.ts";

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}

test("a private folder is made for its owner alone, and one that is there is closed, unless it is meant for all users", async () => {
  const dir = await mkdtemp(join(tmpdir(), "private-"));
  try {
    const made = join(dir, "a/b");
    await ensurePrivateDir(made);
    expect(await modeOf(made)).toBe(0o700);
    const open = join(dir, "open");
    await mkdir(open);
    await chmod(open, 0o755);
    await ensurePrivateDir(open);
    expect(await modeOf(open)).toBe(0o700);
    const shared = join(dir, "shared");
    await mkdir(shared);
    await chmod(shared, 0o1777);
    await expect(ensurePrivateDir(shared)).rejects.toMatchObject({ code: "config_invalid" });
    expect(await modeOf(shared)).toBe(0o1777);
  } finally {
    await rm(dir, { recursive: true });
  }
});
