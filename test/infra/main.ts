import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { chooseSuites, findMissing, searchPath, SUITES, type Suite } from "./needs.ts";

/* `npm run test:infra`: what `infra/` has, run with the programs that it is for. Fails before the first test where one is missing. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const USAGE = `npm run test:infra -- [suite …] [options of vitest]

Suites: ${SUITES.map(({ name }) => name).join(", ")}`;

const args = process.argv.slice(2);
const options = args.findIndex((arg) => arg.startsWith("-"));
const names = options === -1 ? args : args.slice(0, options);
const path = searchPath();

try {
  const suites = chooseSuites(names);
  const missing = findMissing(suites, path);
  if (missing.length > 0) fail(missing.join("\n"));
  else process.exitCode = await runTests(suites, options === -1 ? [] : args.slice(options));
} catch (error) {
  fail(`${(error as Error).message}\n\n${USAGE}`);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

async function runTests(suites: readonly Suite[], more: readonly string[]): Promise<number> {
  console.log(`Running ${suites.map(({ name }) => name).join(", ")}.`);
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/infra/vitest.config.ts"];
  const filters = suites.map(({ name }) => `test/infra/${name}`);
  const child = spawn(process.execPath, [...vitest, ...filters, ...more], {
    cwd: ROOT,
    env: { ...process.env, PATH: path },
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  return (code as number | null) ?? 1;
}
