import { existsSync, globSync, readFileSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { testsLeftOut } from "./scripts/programs/test-programs.ts";

const TESTS = ["{packages,services}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.test.ts"];
/** Long tests, of clusters, campaigns, crashes and browsers: `npm run test:all`. */
const SLOW = "**/*.slow.test.ts";
/** scripts/test/main.ts names their programs. */
const LEFT_OUT = testsLeftOut();
const NO_TESTS = [...configDefaults.exclude, ...LEFT_OUT, "test/bench/**"];

/** Changes the process that a test runs in, or measures it: such a test has a process of its own. */
const CHANGES_PROCESS =
  /\bvi\.(hoisted|mock|setConfig|useFakeTimers)\b|\bprocess\.(on|memoryUsage|getActiveResourcesInfo|cpuUsage)\b|from "node:(child_process|diagnostics_channel|v8|vm|worker_threads)"/;

/** Tests that can follow one another in a process, and so load what they import once. */
const SHARED = globSync("{packages,services}/*/src/**/*.test.ts", {
  exclude: ["**/node_modules/**", SLOW, ...LEFT_OUT],
}).filter((path) => !CHANGES_PROCESS.test(readFileSync(path, "utf8")));

/** A file system in memory. Making streams on a disk is most of what a broker costs a test. */
const MEMORY = "/dev/shm";
const MIN_ROOM_BYTES = 8 * 1_024 ** 3;

function hasRoomInMemory(): boolean {
  if (tmpdir() !== "/tmp" || !existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) >= MIN_ROOM_BYTES;
}

export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    globalSetup: "packages/testkit/src/broker-image.ts",
    // For the processes of tests and those that they start. Vitest takes it away where coverage needs it.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node-compile"),
      TMPDIR: hasRoomInMemory() ? MEMORY : tmpdir(),
    },
    restoreMocks: true,
    unstubGlobals: true,
    setupFiles: "packages/testkit/src/each-file.ts",
    // Tests wait for brokers, timeouts and leases as much as they compute.
    maxWorkers: 2 * availableParallelism(),
    // Ends what hangs, and is far from what anything takes: a busy machine makes no test fail.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    coverage: { provider: "v8", include: ["{packages,services}/*/src/**/*.ts"] },
    projects: [
      // A process per file. Vitest takes projects by name.
      { extends: true, test: { name: "alone", include: TESTS, exclude: [...NO_TESTS, ...SHARED, SLOW] } },
      { extends: true, test: { name: "shared", include: SHARED, isolate: false } },
      {
        extends: true,
        test: {
          name: "slow",
          include: TESTS.map((glob) => glob.replace("*.test", "*.slow.test")),
          exclude: NO_TESTS,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
