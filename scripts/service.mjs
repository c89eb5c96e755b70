// `node scripts/service.mjs delivery`: one service as a process. In JavaScript, so that a Node that can't run TypeScript says so in words.
const OLDEST = 24;
const SERVICES = ["delivery", "inference-worker", "moderation", "analytics", "audit-log", "witness"];
const USAGE = `node scripts/service.mjs ${SERVICES.join("|")}: settings are environment variables, see docs/configuration.md`;

const [name = ""] = process.argv.slice(2);
if (name === "--help" || process.argv.includes("--help")) console.log(USAGE);
else if (!SERVICES.includes(name)) {
  console.error(`There is no service ${JSON.stringify(name)}.\n${USAGE}`);
  process.exitCode = 2;
} else if (Number.parseInt(process.versions.node, 10) < OLDEST) {
  console.error(
    `Node ${process.versions.node} is too old: Reprise needs Node ${OLDEST}. After \`npm ci\` the repository has one: npx node scripts/service.mjs ${name}`,
  );
  process.exitCode = 1;
} else await import(new URL(`../services/${name}/src/main.ts`, import.meta.url).href);
