import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: ["{packages,services}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/bench/**"],
    // A process per file: tests that start brokers, cut sockets and send signals must not meet.
    pool: "forks",
    // Tests wait for brokers, timeouts and leases more than they compute; by default there would be one worker less.
    maxWorkers: availableParallelism(),
    // Ends what hangs, and is far from what anything takes: a busy machine makes no test fail.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    coverage: { provider: "v8", include: ["{packages,services}/*/src/**/*.ts"] },
  },
});
