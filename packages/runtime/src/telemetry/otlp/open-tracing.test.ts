import { startOtlpReceiver } from "@reprise/testkit";
import { afterEach, describe, expect, it, vi } from "vitest";
import { describeTracing } from "../testing/tracing-conformance.ts";
import { NO_TRACING } from "../tracing/tracing.ts";
import { openTracing } from "./open-tracing.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describeTracing("OTLP", async ({ isSampled = true, ...options } = {}) => {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startOtlpReceiver());
  vi.stubEnv("OTEL_TRACES_SAMPLER", isSampled ? "parentbased_always_on" : "parentbased_always_off");
  const tracing = stack.use(await open(receiver.url, options));
  const owned = stack.move();
  return {
    tracing,
    async finish() {
      await tracing[Symbol.asyncDispose]();
      return receiver.spans.map(({ service, ...span }) => {
        expect(service).toBe("reprise-test");
        return span;
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
});

describe("tracing without a collector", () => {
  it("is off, and gives one and the same span", async () => {
    const options = { service: "reprise-test", recordsContent: false, onProblem: () => undefined };
    const tracing = await openTracing({ ...options, isOn: false });
    expect(tracing).toBe(NO_TRACING);
    const span = tracing.start("work", { kind: "server" });
    expect(tracing.start("more")).toBe(span);
    expect(span.context).toBeUndefined();
  });
});

describe("tracing with OTEL_SDK_DISABLED", () => {
  it("gives spans without a context", async () => {
    vi.stubEnv("OTEL_SDK_DISABLED", "true");
    await using receiver = await startOtlpReceiver();
    await using tracing = await open(receiver.url);
    const span = tracing.start("work");
    expect([span.context, span.isRecorded]).toEqual([undefined, false]);
  });
});

describe("a collector", () => {
  it("is sent no attributes beyond their bound", async () => {
    await using receiver = await startOtlpReceiver();
    await using tracing = await open(receiver.url);
    tracing.start("work", { attributes: { long: "x".repeat(10_000) } }).end();
    await tracing[Symbol.asyncDispose]();
    expect(receiver.spans[0]?.attributes["long"]).toHaveLength(512);
  });

  it("that refuses costs its spans, and is reported", async () => {
    await using receiver = await startOtlpReceiver();
    receiver.answer = "refuse";
    const told: string[] = [];
    await using tracing = await open(receiver.url, { onProblem: (message) => told.push(message) });
    tracing.start("lost").end();
    await tracing[Symbol.asyncDispose]();
    expect(receiver.spans).toEqual([]);
    expect(told).toHaveLength(1);
  });

  it("that hangs does not hold up the end", async () => {
    await using receiver = await startOtlpReceiver();
    receiver.answer = "hang";
    const tracing = await open(receiver.url);
    tracing.start("work").end();
    await tracing[Symbol.asyncDispose]();
  });
});

function open(url: string, options: Partial<Parameters<typeof openTracing>[0]> = {}) {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
  return openTracing({
    isOn: true,
    service: "reprise-test",
    recordsContent: false,
    onProblem: () => undefined,
    ...options,
  });
}
