import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: ["{packages,services}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/bench/**"],
    // A process per file: tests that start brokers, cut sockets and send signals must not meet.
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 30_000,
    coverage: { provider: "v8", include: ["{packages,services}/*/src/**/*.ts"] },
  },
});
