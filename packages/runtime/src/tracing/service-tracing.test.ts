import { startOtlpReceiver } from "@reprise/testkit";
import { expect, it, vi } from "vitest";
import { parseEnvironment } from "../environment/environment.ts";
import { openServiceTracing, TRACING_NAMES } from "./service-tracing.ts";

it("sends spans in the service's name, with the headers of the environment", async () => {
  await using receiver = await startOtlpReceiver();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url);
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary");
  try {
    const env = parseEnvironment(process.env, TRACING_NAMES);
    const tracing = await openServiceTracing("delivery", env, { warn: () => undefined });
    tracing.start("work").end();
    await tracing[Symbol.asyncDispose]();
  } finally {
    vi.unstubAllEnvs();
  }
  expect(receiver.spans).toMatchObject([{ service: "reprise-delivery", name: "work" }]);
  expect(receiver.headers["authorization"]).toBe("Bearer canary");
});
