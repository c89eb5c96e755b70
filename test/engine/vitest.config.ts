import { join } from "node:path";
import { defineConfig } from "vitest/config";

const ROOT = join(import.meta.dirname, "../..");

/** Of `npm run test:engine`. */
export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    root: ROOT,
    include: ["test/engine/**/*.test.ts"],
    globalSetup: "packages/testkit/src/broker-image.ts",
    env: { NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/node-compile") },
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
  },
});
