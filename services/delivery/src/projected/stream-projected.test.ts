import { createLogger, createMetrics } from "@reprise/runtime";
import {
  chatProjection,
  createUiStream,
  openaiResponses,
  type Projection,
  tanstackProjection,
} from "@reprise/projections";
import type { EventDraft } from "@reprise/protocol";
import { NO_TRACING } from "@reprise/runtime/telemetry";
import { completed, delta, openSseReader, redacted, started } from "@reprise/testkit";
import * as fc from "fast-check";
import fastify from "fastify";
import { describe, expect, test } from "vitest";
import { sendProblem, toProblem } from "../http/problem.ts";
import type { Reader } from "../readers/reader.ts";
import { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import { ReaderTraces } from "../readers/reader-traces.ts";
import { RequestMetrics } from "../telemetry/request-metrics.ts";
import { RequestNotes } from "../telemetry/request-notes.ts";
import { RequestTraces } from "../telemetry/request-traces.ts";
import { toolCall } from "../testing/platform.ts";
import { createPrincipal } from "../testing/principal.ts";
import { expectedFrames, openCache } from "./cache.fixture.ts";
import { ProjectedCaches } from "./projected-caches.ts";
import { type ProjectedPorts, type ProjectedRead, streamProjected } from "./stream-projected.ts";
import { echo, type EchoState } from "./test-projection.fixture.ts";

/** A server with one route, which answers with the projection of a cache that a test fills by hand. */
async function serve(read: Partial<ProjectedRead<EchoState>> = {}) {
  const opened = openCache();
  const { cache } = opened;
  const hub = {
    ...opened.hub,
    open: async () => cache,
    refresh: async () => {},
    refreshFromLeader: async () => {},
  };
  const readers = new Set<Reader>();
  const metrics = createMetrics({ processMetrics: false });
  const notes = new RequestNotes();
  const requestMetrics = new RequestMetrics(metrics);
  const draining = new AbortController();
  const replayed: number[] = [];
  const context: ProjectedPorts = {
    hub,
    projections: new ProjectedCaches(hub),
    authentication: { renewReader: (principal) => principal },
    readers: {
      eventsDelivered: 0,
      fallenBack: 0,
      enter: (reader) => (readers.add(reader), () => void readers.delete(reader)),
    },
    logger: createLogger({ service: "delivery", level: "error", destination: { write: () => {} } }),
    notes,
    requestMetrics,
    readerMetrics: new ReaderMetrics(metrics),
    traces: new RequestTraces({
      tracing: NO_TRACING,
      authentication: { findPrincipal: () => undefined },
      notes,
      metrics: requestMetrics,
    }),
    readerTraces: new ReaderTraces(NO_TRACING),
    draining: draining.signal,
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, toProblem(error)));
  app.get<{ Querystring: { from?: string } }>("/", async (request, reply) => {
    void reply.header("x-protocol", "echo");
    return streamProjected(context, reply, {
      ref: cache.ref,
      protocol: "tanstack",
      caller: { by: "ann", address: "public" },
      principal: createPrincipal(),
      role: "read",
      projection: echo,
      from: Number(request.query.from ?? 0),
      status: 200,
      call: "read",
      onReplay: (bytesOf) => void replayed.push(bytesOf()),
      errorFrames: ({ code }) => [{ data: code }],
      ids: true,
      ...read,
    });
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    ...opened,
    readers,
    replayed,
    draining,
    open: (from?: number) => openSseReader(from === undefined ? url : `${url}/?from=${from}`),
    get: (from?: number) => fetch(from === undefined ? url : `${url}/?from=${from}`),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

const withoutRetry = (bytes: Buffer) => bytes.toString().replace(/^retry: \d+\n/, "");

test("a reader is sent the route's headers, every frame, and a clean end", async () => {
  await using served = await serve();
  const { feed, cache, readers, replayed } = served;
  feed(started(), delta("a"));
  await using reader = await served.open();
  expect(reader.headers).toMatchObject({
    "x-protocol": "echo",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
  });
  expect(await reader.nextFrame()).toMatchObject({ id: "0", event: "delta", data: '"a"' });
  expect([...readers].map(({ record }) => record?.mark())).toMatchObject([
    { protocol: "tanstack", from_seq: 1 },
  ]);
  feed(delta("b"), completed());
  expect(await reader.ended).toBe("clean");
  expect(withoutRetry(reader.bytes)).toBe(expectedFrames(cache).join(""));
  expect([readers.size, replayed.length, replayed[0]! > 0]).toEqual([0, 1, true]);
});

test("a reader that comes back with the number of its last frame is sent those after it", async () => {
  await using served = await serve();
  const { feed, cache } = served;
  feed(started(), delta("a"), delta("b"));
  await using reader = await served.open(3);
  feed(completed());
  expect(await reader.ended).toBe("clean");
  expect(withoutRetry(reader.bytes)).toBe(expectedFrames(cache).slice(3).join(""));
});

test("of frames that the node has let go of, and events too, a suffix is the same", async () => {
  await using served = await serve();
  const { feed, cache } = served;
  feed(started(), ...Array.from({ length: 400 }, () => delta("x".repeat(1_000))), completed());
  const whole = expectedFrames(cache);
  await using first = await served.open();
  expect(await first.ended).toBe("clean");
  cache.trim(0);
  await using second = await served.open(5);
  expect(await second.ended).toBe("clean");
  expect(withoutRetry(second.bytes)).toBe(whole.slice(5).join(""));
});

const anyDraft: fc.Arbitrary<EventDraft> = fc.oneof(
  fc.string().map((text) => delta(text)),
  fc.record({ type: fc.constantFrom("reasoning.delta", "refusal.delta"), text: fc.string() }),
  fc.nat().map((n) => toolCall(`call-${n}`)),
);
const CANCELLED: EventDraft = {
  type: "generation.cancelled",
  reason: "",
  usage: { input_tokens: 1, output_tokens: 1 },
};

test.each([
  chatProjection({ includeUsage: true }),
  openaiResponses,
  createUiStream({ messageId: undefined }),
  tanstackProjection({ metadata: undefined, isStructured: false }),
] as readonly Projection<unknown>[])(
  "after any frame of any log the rest of $name is that of the whole, while it runs and after it",
  async (projection) => {
    const logs = fc.array(anyDraft, { maxLength: 12 });
    const ends = fc.constantFrom(completed(), CANCELLED);
    await fc.assert(
      fc.asyncProperty(logs, logs, ends, fc.nat(), fc.boolean(), async (early, late, end, k, isTrimmed) => {
        await using served = await serve({ projection: projection as Projection<EchoState> });
        const { feed, cache } = served;
        feed(started(), ...early);
        const position = k % (expectedFrames(cache, true, projection).length + 1);
        await using live = await served.open(position);
        feed(...late, end);
        const rest = expectedFrames(cache, true, projection).slice(position).join("");
        if (isTrimmed) cache.trim(0);
        await using after = await served.open(position);
        for (const reader of [live, after])
          expect([await reader.ended, withoutRetry(reader.bytes)]).toEqual(["clean", rest]);
      }),
      { numRuns: 25 },
    );
  },
);

describe("a reader that has every frame of a projection that has ended", () => {
  test("is answered with nothing, as a stream", async () => {
    await using served = await serve();
    served.feed(started(), completed());
    const answer = await served.get(2);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
      "",
    ]);
  });

  test("is answered with 204 where the protocol has that", async () => {
    await using served = await serve({ endedStatus: 204 });
    served.feed(started(), completed());
    expect((await served.get(2)).status).toBe(204);
  });

  test("is sent the end again, without a number, where the protocol asks for that", async () => {
    await using served = await serve({
      endedStatus: 204,
      endedFrames: ({ text }) => [{ data: `end of ${text}` }],
    });
    served.feed(started(), delta("a"), completed());
    expect(await (await served.get(4)).text()).toBe("data: end of a\n\n");
  });
});

test("a position that no node can have sent is refused, and the parameter named", async () => {
  await using served = await serve({ param: "starting_after" });
  served.feed(started(), delta("a"));
  const answer = await served.get(3);
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { error: { code: "cursor_invalid", param: "starting_after" } },
  ]);
});

test("a route may choose where to begin by how many frames there are, and say so in a header", async () => {
  const counts: unknown[] = [];
  await using served = await serve({
    from: (frames, hasEnded) => (counts.push(frames, hasEnded), frames - 1),
  });
  served.feed(started(), delta("a"), delta("b"));
  await using reader = await served.open();
  expect([(await reader.nextFrame())?.id, counts]).toEqual(["3", [4, false]]);
});

describe("a late reader that is told at once what was said so far", () => {
  const opening = {
    fold: echo,
    toFrames: (state: EchoState, soFar: unknown) => {
      expect(soFar).toEqual(state);
      return [{ event: "so-far", data: state.text }];
    },
    isShared: false,
  };

  test("shares it with other readers if it depends on the log alone, until there is more", async () => {
    let made = 0;
    const toFrames = (state: EchoState) => [{ event: "so-far", data: `${++made} ${state.text}` }];
    await using served = await serve({ opening: { fold: echo, toFrames, isShared: true } });
    const first = async () => {
      await using reader = await served.open();
      return (await reader.nextFrame())?.data;
    };
    served.feed(started(), delta("a"));
    expect([await first(), await first()]).toEqual(["1 a", "1 a"]);
    served.feed(redacted(2));
    expect(await first()).toBe("2 [redacted]");
    served.cache.trim(0);
    expect(await first()).toBe("3 [redacted]");
  });

  test("is sent that, and then what comes", async () => {
    await using served = await serve({ opening });
    const { feed, cache, readers } = served;
    feed(started(), delta("a"), delta("b"));
    await using reader = await served.open();
    expect(await reader.nextFrame()).toMatchObject({ event: "so-far", data: "ab" });
    expect([...readers].map(({ record }) => record?.mark())).toMatchObject([{ from_seq: 1, seq: 3 }]);
    feed(delta("c"), completed());
    expect(await reader.ended).toBe("clean");
    const rest = expectedFrames(cache).slice(4).join("");
    expect(withoutRetry(reader.bytes)).toBe(`event: so-far\ndata: ab\n\n${rest}`);
  });

  test("is sent that alone where there is nothing to come", async () => {
    await using served = await serve({ opening });
    served.feed(started(), delta("a"), completed());
    await using reader = await served.open();
    expect(await reader.ended).toBe("clean");
    expect(withoutRetry(reader.bytes)).toBe("event: so-far\ndata: a\n\n");
  });
});

test("a node that drains breaks its readers off, to come back to another, and takes no more", async () => {
  await using served = await serve();
  const { feed, readers, draining } = served;
  feed(started(), delta("a"));
  await using reader = await served.open();
  while (reader.frames.length < 2) await reader.nextFrame();
  draining.abort();
  for (const { stream } of readers) stream?.disconnectWithRetry(500);
  expect(await reader.ended).toBe("broken");
  expect(reader.bytes.toString()).toMatch(/\n\nretry: 500\n$/);
  expect((await served.get()).status).toBe(503);
});

test("heartbeats keep the connection alive, one line each", async () => {
  await using served = await serve();
  served.feed(started(), delta("a"));
  await using reader = await served.open();
  while (reader.frames.length < 2) await reader.nextFrame();
  for (const { stream } of served.readers) stream?.heartbeat(performance.now() + 60_000, 15_000);
  await expect.poll(() => reader.bytes.toString()).toMatch(/\n\n: ping\n$/);
});
