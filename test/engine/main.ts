import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installServer } from "./server/install.ts";
import { startServer } from "./server/start.ts";

/* `npm run test:engine`: the platform in front of a real llama-server, beside direct calls of it. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

try {
  const folder = await installServer(join(ROOT, ".reprise"));
  await using server = await startServer(folder);
  console.log(`llama-server is at ${server.baseUrl}`);
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/engine/vitest.config.ts"];
  const child = spawn(process.execPath, [...vitest, ...process.argv.slice(2)], {
    cwd: ROOT,
    env: {
      ...process.env,
      REPRISE_TEST_ENGINE: server.baseUrl,
      REPRISE_TEST_ENGINE_FOLDER: folder,
    },
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  process.exitCode = (code as number | null) ?? 1;
} catch (error) {
  console.error(`test:engine needs root on a machine with a Debian archive: ${(error as Error).message}`);
  process.exitCode = 1;
}
