// The health check of all images: `node check-health.mjs /healthz`. Its exit code says whether the process in this container answers 200.
const [path = "/healthz"] = process.argv.slice(2);
const port = process.env["REPRISE_OPS_PORT"] ?? "9464";
const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) }).catch(
  (error) => new Response(String(error.cause ?? error), { status: 503 }),
);
if (!answer.ok) {
  console.log(await answer.text());
  process.exitCode = 1;
}
