import { asStreamSeq, asUnixMs } from "@reprise/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { createMetrics } from "../http/metrics.ts";
import { ConsumerPlaces, observeConsumer } from "./consumer-lag.ts";

afterEach(() => {
  vi.useRealTimers();
});

function openConsumers() {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const metrics = createMetrics({ processMetrics: false });
  const ends = new Map<string, number>();
  const lastStreamSeq = (stream: string) => {
    const end = ends.get(stream);
    return end === undefined ? undefined : asStreamSeq(end);
  };
  const [analytics, audit] = [new ConsumerPlaces({ lastStreamSeq }), new ConsumerPlaces({ lastStreamSeq })];
  observeConsumer(metrics, "analytics", analytics);
  observeConsumer(metrics, "audit-log", { events: audit.events });
  const read = async () => {
    const lines = (await metrics.render()).matchAll(/^reprise_consumer_lag_(.*)\{consumer="(.*)"\} (\S+)$/gm);
    return Object.fromEntries(
      [...lines].map(([, what, consumer, value]) => [`${consumer} ${what}`, Number(value)]),
    );
  };
  const first = (streamSeq: number, storedAtMs: number) => ({
    streamSeq: asStreamSeq(streamSeq),
    storedAtMs: asUnixMs(storedAtMs),
  });
  return { ends, analytics, audit, read, first };
}

test("a consumer is behind by the events of its streams that it has not dealt with, and by the age of the oldest that it has read", async () => {
  const { ends, analytics, audit, read, first } = openConsumers();
  expect(await read()).toEqual({ "analytics seconds": 0, "analytics events": 0, "audit-log events": 0 });
  ends.set("A", 100).set("B", 7);
  analytics.read("A", first(51, 990_000));
  analytics.read("A", first(61, 995_000));
  audit.read("B", first(6, 999_000));
  expect(await read()).toEqual({ "analytics seconds": 10, "analytics events": 50, "audit-log events": 2 });
  analytics.settled("A", asStreamSeq(60));
  analytics.read("B", first(1, 998_000));
  expect(await read()).toMatchObject({ "analytics seconds": 2, "analytics events": 47 });
});

test("a stream that another process consumes now does not count, nor one whose end is not known", async () => {
  const { ends, analytics, read, first } = openConsumers();
  analytics.read("A", first(51, 990_000));
  expect(await read()).toMatchObject({ "analytics seconds": 10, "analytics events": 0 });
  ends.set("A", 100);
  analytics.forget("A");
  expect(await read()).toMatchObject({ "analytics seconds": 0, "analytics events": 0 });
});

test("what was read after the end that is known, or by a slow clock, is no lag below 0", async () => {
  const { ends, analytics, read, first } = openConsumers();
  ends.set("A", 10);
  analytics.read("A", first(20, 1_000_500));
  expect(await read()).toMatchObject({ "analytics seconds": 0, "analytics events": 0 });
});
