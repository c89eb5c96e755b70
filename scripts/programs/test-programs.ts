import { existsSync, globSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that tests take from PATH, and the tests that are left out without them. */
const TESTS_WITH: Readonly<Record<string, readonly string[]>> = {
  "redis-server": ["{packages,services}/*/src/**/*.redis.test.ts", "test/observability/live.slow.test.ts"],
  promtool: ["test/observability/promtool.slow.test.ts"],
  prometheus: ["test/observability/live.slow.test.ts"],
  nginx: ["test/proxies/*.test.ts"],
  "llama-server": ["test/engine/*.test.ts"],
  python3: ["test/clients/producer-py.slow.test.ts"],
  chromium: ["test/e2e/browser*.slow.test.ts", "test/clients/use-chat.slow.test.ts"],
};

/** Ubuntu's `chromium-browser` may be a script that only says which snap to install. */
const CHROMIUM = ["chromium", "google-chrome-stable", "google-chrome", "chromium-browser"];
const CHROMIUM_OFF_PATH = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Globs of the tests that can't run on this machine. */
export function testsLeftOut(): string[] {
  return missingPrograms().flatMap((program) => TESTS_WITH[program] ?? []);
}

/**
 * Describes what tests miss on this machine; undefined if they miss nothing.
 * @param tests `gate`: the short tests; `all`; or words, one of which the path of a test contains
 */
export function describeMissing(tests: "gate" | "all" | readonly string[]): string | undefined {
  const isMeant = (path: string) => {
    if (typeof tests === "string") return tests === "all" || !path.endsWith(".slow.test.ts");
    return tests.some((word) => path.includes(word));
  };
  const missing = missingPrograms().filter((program) => globSync(TESTS_WITH[program] ?? []).some(isMeant));
  if (missing.length === 0) return undefined;
  return `Tests that need ${missing.join(", ")} are left out: PATH has no such program.`;
}

/** Finds a Chromium or Chrome: on PATH, or where macOS keeps it. */
export function findChromium(): string | undefined {
  return CHROMIUM.map(findOnPath).find(Boolean) ?? CHROMIUM_OFF_PATH.find((file) => existsSync(file));
}

function missingPrograms(): string[] {
  const find = (program: string) => (program === "chromium" ? findChromium() : findOnPath(program));
  return Object.keys(TESTS_WITH).filter((program) => find(program) === undefined);
}

function findOnPath(program: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}
