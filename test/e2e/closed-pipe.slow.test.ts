import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test.each([
  "services/delivery/src/cli/main.ts",
  "services/audit-log/src/cli/main.ts",
  "services/moderation/src/cli/main.ts",
  "infra/nats/main.ts",
  "infra/redis/main.ts",
])("the commands of %s end with 141 when the reader of their output has left", async (path) => {
  const command = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, command, "--help"], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  const [code] = (await once(child, "close")) as [number];
  expect([code, errors]).toEqual([141, ""]);
});
