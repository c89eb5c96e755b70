import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test.each([
  ["a requirement that PROTOCOL.md does not have", ["--only", "M-999"], "M-999"],
  ["an unknown option", ["--quik"], "--quik"],
  ["a server that gives no answer", [], "http://127.0.0.1:1: "],
])("refuses %s", (_, options, told) => {
  const main = join(import.meta.dirname, "main.ts");
  const args = [main, "http://127.0.0.1:1", "--key", "any", ...options];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 64, stderr: expect.stringContaining(told) });
});
