import { existsSync, globSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { findChromium } from "./find-chromium.ts";
import { installCommand, type ProgramName } from "./install-command.ts";
import type { Machine } from "./machine.ts";

/** Lists what tests run and don't fetch by themselves. `npm test` has no tests in a browser. */
export function missingTestPrograms(tier: "gate" | "all"): ProgramName[] {
  const missing: ProgramName[] = [];
  if (!isOnPath("redis-server")) missing.push("redis-server");
  if (tier === "all" && findChromium() === undefined && !hasPlaywrightChromium()) missing.push("chromium");
  return missing;
}

/** Whether `npm test` leaves tests of Redis out. CI has to have one. */
export function leavesRedisOut(): boolean {
  return !process.env["CI"] && !isOnPath("redis-server");
}

function isOnPath(program: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** What to say of them before tests begin; nothing when all are there. */
export function describeMissing(missing: readonly ProgramName[], machine: Machine): string | undefined {
  if (missing.length === 0) return undefined;
  const effects = {
    "redis-server": "tests of Redis are left out",
    chromium: "tests in a browser are skipped",
  };
  const said = Object.entries(effects).filter(([program]) => missing.includes(program as ProgramName));
  const command = installCommand(machine, missing);
  return [
    `This machine has no ${missing.join(" and no ")}: ${said.map(([, effect]) => effect).join(", ")}.`,
    command === undefined ? "Install what is missing, so that it is on PATH." : `To install: ${command}`,
  ].join("\n");
}

/** By its folder alone: the path within is Playwright's to know. */
function hasPlaywrightChromium(): boolean {
  const folders = [".cache", "Library/Caches"].map((cache) => join(homedir(), cache, "ms-playwright"));
  return folders.some((folder) => globSync("chromium-*", { cwd: folder }).length > 0);
}
