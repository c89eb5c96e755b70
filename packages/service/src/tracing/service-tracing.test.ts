import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir, startOtlpReceiver, startTcpProxy } from "@reprise/testkit";
import { expect, it } from "vitest";
import { parseEnvironment } from "../environment/environment.ts";
import { openServiceTracing, TRACING_NAMES } from "./service-tracing.ts";

const silent = { warn: () => undefined, info: () => undefined };

it("sends spans in the service's name, with the headers of the file", async () => {
  await using receiver = await startOtlpReceiver();
  await using dir = await createTempDir();
  const file = join(dir.path, "headers.json");
  await writeFile(file, JSON.stringify({ authorization: "Bearer canary" }));
  const tracing = await openServiceTracing(
    "delivery",
    environment({
      REPRISE_OTLP_URL: receiver.url,
      REPRISE_OTLP_HEADERS_FILE: file,
      REPRISE_TRACE_SAMPLE: "1",
    }),
    silent,
  );
  tracing.start("work").end();
  await tracing[Symbol.asyncDispose]();
  expect(receiver.spans).toMatchObject([{ service: "reprise-delivery", name: "work" }]);
  expect(receiver.headers["authorization"]).toBe("Bearer canary");
});

it("refuses a file of headers without a word of what is in it", async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, "headers.json");
  const env = environment({ REPRISE_OTLP_URL: "http://127.0.0.1:1", REPRISE_OTLP_HEADERS_FILE: file });
  await writeFile(file, '{"authorization": "canary');
  await expect(openServiceTracing("delivery", env, silent)).rejects.toThrow(/is not JSON\.$/);
  await writeFile(file, '{"authorization": "canary\\n"}');
  const refused = openServiceTracing("delivery", env, silent);
  await expect(refused).rejects.toMatchObject({ code: "config_invalid" });
  await expect(refused).rejects.not.toThrow("canary");
});

it("logs one line when the collector goes and one when it is back", async () => {
  // No server listens there.
  let port = 1;
  await using way = await startTcpProxy({ target: () => ({ port }) });
  const lines: string[] = [];
  let logged = Promise.withResolvers<void>();
  const log = (_fields: unknown, line: string) => {
    lines.push(line);
    logged.resolve();
    logged = Promise.withResolvers();
  };
  const untilLogged = async (count: number) => {
    while (lines.length < count) await logged.promise;
  };
  const env = environment({ REPRISE_OTLP_URL: `http://127.0.0.1:${way.port}`, REPRISE_TRACE_SAMPLE: "1" });
  await using tracing = await openServiceTracing("delivery", env, { warn: log, info: log });
  tracing.start("lost").end();
  await untilLogged(1);
  await using receiver = await startOtlpReceiver();
  ({ port } = receiver);
  tracing.start("kept").end();
  await untilLogged(2);
  expect(receiver.spans.map(({ name }) => name)).toEqual(["kept"]);
  expect(lines).toEqual([
    "the collector takes no spans: they are dropped",
    "the collector takes spans again",
  ]);
});

function environment(env: Record<string, string>) {
  return parseEnvironment(env, TRACING_NAMES);
}
