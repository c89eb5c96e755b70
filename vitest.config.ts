import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

const TESTS = ["{packages,services}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.test.ts"];
const NO_TESTS = [...configDefaults.exclude, "test/bench/**"];

/** What a test imports that starts processes, opens sockets or changes what all tests of a process share. */
const IMPURE =
  /from "(@reprise\/testkit|.*\/testing\/.*|node:(child_process|net|http|https|tls|worker_threads))"|\bvi\./;

/** Tests of functions alone: they can share a process, and so load what they import once. */
const PURE = globSync("{packages,services}/*/src/**/*.test.ts").filter(
  (path) => !path.includes("node_modules") && !IMPURE.test(readFileSync(path, "utf8")),
);

export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    // Tests wait for brokers, timeouts and leases more than they compute; by default there would be one worker less.
    maxWorkers: availableParallelism() + 1,
    // Ends what hangs, and is far from what anything takes: a busy machine makes no test fail.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    coverage: { provider: "v8", include: ["{packages,services}/*/src/**/*.ts"] },
    projects: [
      { extends: true, test: { name: "pure", include: PURE, isolate: false } },
      // A process per file: tests that start brokers, cut sockets and send signals must not meet.
      { extends: true, test: { name: "real", include: TESTS, exclude: [...NO_TESTS, ...PURE] } },
    ],
  },
});
