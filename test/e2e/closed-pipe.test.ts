import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test.each(["delivery", "audit-log"])(
  "the commands of %s end with 141 when the reader of their output has left",
  async (service) => {
    const command = fileURLToPath(new URL(`../../services/${service}/src/cli/main.ts`, import.meta.url));
    const child = spawn(process.execPath, [...process.execArgv, command, "--help"], {
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let errors = "";
    child.stderr.on("data", (chunk) => (errors += String(chunk)));
    const [code] = (await once(child, "close")) as [number];
    expect([code, errors]).toEqual([141, ""]);
  },
);
