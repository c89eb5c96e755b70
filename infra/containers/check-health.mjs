// The health check of all images: `node check-health.mjs /healthz`. Its exit code says whether the process in this container answers 200.
import process, { argv, env, stdout } from "node:process";

const [path = "/healthz"] = argv.slice(2);
const url = `http://127.0.0.1:${env["REPRISE_OPS_PORT"] ?? "9464"}${path}`;
const answer = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch(
  (error) => new Response(String(error.cause ?? error), { status: 503 }),
);
stdout.write(`${await answer.text()}\n`);
process.exitCode = answer.ok ? 0 : 1;
