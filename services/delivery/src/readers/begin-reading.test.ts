import { asSeq } from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { NO_TRACING } from "@reprise/runtime/telemetry";
import { completed, delta, openSseReader, started } from "@reprise/testkit";
import fastify from "fastify";
import { expect, test } from "vitest";
import { openCache } from "../projected/cache.fixture.ts";
import { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import { ReaderTraces } from "./reader-traces.ts";
import { RequestMetrics } from "../telemetry/request-metrics.ts";
import { RequestNotes } from "../telemetry/request-notes.ts";
import { RequestTraces } from "../telemetry/request-traces.ts";
import { NO_STALLS, type StalledTime } from "../telemetry/stalls.ts";
import { createPrincipal } from "../testing/principal.ts";
import type { Reader } from "./reader.ts";
import { beginReading, type NewReading } from "./begin-reading.ts";
import { LiveStream } from "./streams/live-stream.ts";

/** A server whose one stream begins when a test lets it, of a cache that the test fills by hand. */
async function serve({
  stalls = NO_STALLS,
  ...read
}: Partial<Pick<NewReading, "created" | "fromSeq">> & { stalls?: StalledTime } = {}) {
  const { cache, hub, feed } = openCache();
  const metrics = createMetrics({ processMetrics: false });
  const notes = new RequestNotes();
  const requestMetrics = new RequestMetrics(metrics, stalls);
  const arrived = Promise.withResolvers<void>();
  const opens = Promise.withResolvers<void>();
  const readers: Reader[] = [];
  const context = {
    hub,
    notes,
    requestMetrics,
    readerMetrics: new ReaderMetrics(metrics),
    readerTraces: new ReaderTraces(NO_TRACING),
    traces: new RequestTraces({
      tracing: NO_TRACING,
      authentication: { findPrincipal: () => undefined },
      notes,
      metrics: requestMetrics,
    }),
    authentication: { renewReader: <T>(principal: T) => principal },
    logger: createLogger({ service: "delivery", level: "error", destination: { write: () => {} } }),
    readers: {
      eventsDelivered: 0,
      fallenBack: 0,
      enter: (reader: Reader) => (readers.push(reader), () => {}),
    },
    draining: new AbortController().signal,
  };
  const app = fastify();
  app.addHook("onRequest", async (request, reply) => requestMetrics.begin(request, reply));
  app.get("/", async (_request, reply) => {
    arrived.resolve();
    await opens.promise;
    return beginReading(context, reply, {
      cache,
      fromSeq: asSeq(1),
      resumed: false,
      status: 200,
      protocol: "sse",
      caller: { by: "ann", address: "public" },
      principal: createPrincipal(),
      role: "read",
      call: "create",
      created: false,
      open: (options) => new LiveStream(options),
      ...read,
    });
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    cache,
    feed,
    arrived: arrived.promise,
    open: () => openSseReader(url),
    begin: () => opens.resolve(),
    /** Wakes the stream as the hub does. */
    receiveOutput(underwayMs = 1) {
      feed(started(), delta("a"));
      cache.figures.firstOutput = { underwayMs, receivedAtMs: performance.now(), shownAtMs: undefined };
      feed(completed());
    },
    mark: () => readers[0]?.record?.mark(),
    counted: async () =>
      Number(/^reprise_first_event_seconds_count\{call="create"\} (\d+)$/m.exec(await metrics.render())?.[1]),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

test("a reader whose request was there before the first output is measured, however late its stream is opened", async () => {
  await using served = await serve();
  const opening = served.open();
  await served.arrived;
  served.receiveOutput();
  served.begin();
  await using reader = await opening;
  expect(await reader.ended).toBe("clean");
  expect(await served.counted()).toBe(1);
  expect(served.mark()).toMatchObject({ first_output: { received_ms: 1 } });
});

test("the call that has created the generation is measured, though another has loaded the log", async () => {
  await using served = await serve({ created: true });
  served.feed(started(), delta("a"), completed());
  served.begin();
  await using reader = await served.open();
  expect(await reader.ended).toBe("clean");
  expect(await served.counted()).toBe(1);
});

test("a reader that comes after the first output, or has had it, is not measured", async () => {
  await using late = await serve();
  late.receiveOutput();
  late.begin();
  await using reader = await late.open();
  expect(await reader.ended).toBe("clean");
  await using resuming = await serve({ created: true, fromSeq: asSeq(3) });
  resuming.receiveOutput();
  resuming.begin();
  await using resumed = await resuming.open();
  expect(await resumed.ended).toBe("clean");
  expect([await late.counted(), await resuming.counted()]).toEqual([0, 0]);
});

test("a reader of a node that stood still has waited since then, and the node is to blame, not the broker", async () => {
  const stoodStillMs = 5_000;
  await using served = await serve({
    stalls: { arrivalAt: (nowMs) => nowMs - stoodStillMs, within: () => stoodStillMs },
  });
  served.begin();
  served.receiveOutput(stoodStillMs + 7);
  await using reader = await served.open();
  expect(await reader.ended).toBe("clean");
  expect(await served.counted()).toBe(1);
  const { first_output: first } = served.mark() ?? {};
  expect(first?.received_ms).toBe(7);
  expect((first?.sent_ms ?? 0) - (first?.shown_ms ?? 0)).toBeGreaterThanOrEqual(stoodStillMs);
});
