// Part of `npm run check`: lints the `.proto`, and compares the code that is made of it with that of the repository.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const FOLDER = "packages/protocol/proto";
const MADE = "services/delivery/src/rpc/generated/reprise/v1/reprise_pb.ts";
const buf = resolve("node_modules/@bufbuild/buf/bin/buf");

function run(...args: readonly string[]): boolean {
  return spawnSync(process.execPath, [buf, ...args], { cwd: FOLDER, stdio: "inherit" }).status === 0;
}

const made = mkdtempSync(join(tmpdir(), "reprise-proto-"));
try {
  const isMade = run("lint") && run("generate", "--output", join(made, FOLDER));
  const isSame = isMade && readFileSync(join(made, MADE), "utf8") === readFileSync(MADE, "utf8");
  if (isMade && !isSame) console.error(`${MADE} differs from the .proto: run npx buf generate in ${FOLDER}.`);
  if (!isSame) process.exitCode = 1;
} finally {
  rmSync(made, { recursive: true });
}
