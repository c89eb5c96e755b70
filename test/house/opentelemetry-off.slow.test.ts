import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Prints every module of OpenTelemetry's SDK that the process loads. prom-client loads its API, for exemplars. */
const PROBE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      if (/\\/@opentelemetry\\/(?!api\\/)/.test(url)) console.log(url);
      return next(url, context);
    },
  });
`)}`;

/** Loads every service, and opens a process's tracing as `startBrokerService` does. */
async function openTracing(env: Record<string, string>): Promise<string[]> {
  const script = `
    import { parseEnvironment, openServiceTracing, TRACING_NAMES } from "@reprise/runtime";
    await import("@reprise/delivery-service");
    await import("@reprise/inference-worker-service");
    await import("@reprise/moderation-service");
    await import("@reprise/audit-log-service");
    const tracing = await openServiceTracing("test", parseEnvironment(${JSON.stringify(env)}, TRACING_NAMES), console);
    tracing.start("work").end();
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", PROBE, "--input-type=module", "-e", script],
    // Where the workspaces of all services can be found by their names.
    { cwd: join(ROOT, "services/standalone"), env: { PATH: process.env["PATH"] } },
  );
  return stdout.split("\n").filter((line) => line !== "");
}

test("a process without a collector loads no file of OpenTelemetry's SDK", async () => {
  expect(await openTracing({})).toEqual([]);
});

test("one with a collector does, so that the test above can fail", async () => {
  const loaded = await openTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  expect(loaded.some((url) => url.includes("/@opentelemetry/sdk-node/"))).toBe(true);
});
