import { decodePresenceRecord, GenerationCache, type Publish } from "@reprise/log";
import { DEFAULT_POLICY, encodeEvent, parseNodeId } from "@reprise/protocol";
import { createRef, requested } from "@reprise/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeliveryMarks } from "./delivery-marks/delivery-marks.ts";
import { presentReader } from "./presence/present-reader.ts";
import { ReaderRegistry } from "./reader-registry.ts";
import { httpSseFraming } from "./streams/http-sse-framing.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openRegistry() {
  const announced: unknown[] = [];
  const publish: Publish = async (_subject, payload) => {
    announced.push(decodePresenceRecord(payload));
    return { kind: "stored", streamSeq: announced.length, duplicate: false };
  };
  const node = parseNodeId("node");
  const onError = (error: unknown) => expect.unreachable(String(error));
  const marks = new DeliveryMarks({ publish, node, onLost: onError, onError });
  const presence = { publish, node, onError };
  const registry = new ReaderRegistry({ presence, marks, heartbeatMs: 500, random: () => 0.5 });
  return { registry, announced };
}

function recordingStream() {
  const calls: unknown[] = [];
  const heartbeat = (_nowMs: number, everyMs: number) => void calls.push(["heartbeat", everyMs]);
  const disconnectWithRetry = (retryMs: number) => void calls.push(["disconnect", retryMs]);
  return { calls, stream: { heartbeat, disconnectWithRetry } };
}

test("open streams are counted and get heartbeats, until they have left", () => {
  const { registry } = openRegistry();
  const ref = createRef();
  const [one, other] = [recordingStream(), recordingStream()];
  const leave = registry.enter({ ref, stream: one.stream });
  registry.enter({ ref, stream: other.stream });
  registry.enter({ ref });
  expect(registry.streams).toBe(2);
  vi.advanceTimersByTime(500);
  leave();
  leave();
  vi.advanceTimersByTime(500);
  expect([registry.streams, one.calls.length, other.calls.length]).toEqual([1, 1, 2]);
});

test("a drain disconnects every stream once, and ends heartbeats", async () => {
  const { registry } = openRegistry();
  const streams = [recordingStream(), recordingStream()];
  for (const { stream } of streams) registry.enter({ ref: createRef(), stream });
  registry.drain();
  await registry.close();
  vi.advanceTimersByTime(5_000);
  expect(streams.map(({ calls }) => calls)).toEqual([[["disconnect", 1_050]], [["disconnect", 1_050]]]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a reader that enters during a drain is not announced", async () => {
  const { registry, announced } = openRegistry();
  const ref = createRef();
  const policy = { ...DEFAULT_POLICY, on_disconnect: { cancel_after: 1_000 } };
  const events = [encodeEvent(0, requested(ref, {}, policy))];
  const cache = new GenerationCache(ref, httpSseFraming, { events, streamSeq: 1 });
  registry.drain();
  const presence = presentReader(cache, { takenSeq: 0 });
  expect(presence).toBeDefined();
  registry.enter({ ref, presence })();
  await registry.close();
  expect(announced).toEqual([]);
});
