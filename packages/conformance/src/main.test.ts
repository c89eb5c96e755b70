import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("refuses a requirement that PROTOCOL.md does not have", () => {
  const main = join(import.meta.dirname, "main.ts");
  const args = [main, "http://127.0.0.1:1", "--key", "any", "--only", "M-999"];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 64, stderr: expect.stringContaining("M-999") });
});
