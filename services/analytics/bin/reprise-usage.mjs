#!/usr/bin/env node
// `npx reprise-usage`: runs the commands under the project's own Node, not the `node` on the path.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const OLDEST = 24;
const main = new URL("../src/cli/main.ts", import.meta.url);

if (Number.parseInt(process.versions.node, 10) >= OLDEST) await import(main.href);
else {
  const node = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
  const { status, error } = spawnSync(node, [fileURLToPath(main), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  if (error) process.stderr.write(`Node ${OLDEST} is needed. \`npm ci\` brings it.\n`);
  process.exitCode = status ?? 3;
}
