import {
  asSeq,
  asStreamSeq,
  DEFAULT_POLICY,
  encodeEvent,
  parseNodeId,
  parseTenantId,
  RepriseError,
  plusMs,
  unixNow,
} from "@reprise/protocol";
import { GenerationCache } from "@reprise/stream";
import { type Publish } from "@reprise/broker";
import { decodePresenceRecord } from "@reprise/jobs";
import { createRef, requested } from "@reprise/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Principal } from "@reprise/tenancy";
import type { ReadingRole } from "../http/auth.ts";
import { createPrincipal } from "../testing/principal.ts";
import { DeliveryMarks } from "./delivery-marks/delivery-marks.ts";
import { presentReader } from "./presence/present-reader.ts";
import { ReaderRegistry, type ReaderRegistryOptions } from "./reader-registry.ts";
import { nativeSseFraming } from "./streams/native-sse-framing.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const unchanged: ReaderRegistryOptions["renew"] = (principal) => principal;

function openRegistry({ renew = unchanged } = {}) {
  const announced: unknown[] = [];
  const publish: Publish = async (_subject, payload) => {
    announced.push(decodePresenceRecord(payload));
    return { kind: "stored", streamSeq: asStreamSeq(announced.length), duplicate: false };
  };
  const node = parseNodeId("node");
  const onError = (error: unknown) => expect.unreachable(String(error));
  const marks = new DeliveryMarks({ publish, node, onLost: onError, onError });
  const presence = { publish, node, onError };
  const registry = new ReaderRegistry({ presence, marks, renew, heartbeatMs: 500, random: () => 0.5 });
  return { registry, announced };
}

function recordingStream(principal = createPrincipal(), role: ReadingRole = "read") {
  const calls: unknown[] = [];
  const heartbeat = (_nowMs: number, everyMs: number) => void calls.push(["heartbeat", everyMs]);
  const disconnectWithRetry = (retryMs: number) => void calls.push(["disconnect", retryMs]);
  const fail = ({ code }: RepriseError) => void calls.push(["fail", code]);
  return { calls, stream: { principal, role, heartbeat, disconnectWithRetry, fail } };
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
  const events = [encodeEvent(asSeq(0), requested(ref, {}, policy))];
  const cache = new GenerationCache(ref, nativeSseFraming, { events, streamSeq: asStreamSeq(1) });
  registry.drain();
  const presence = presentReader(cache, { takenSeq: asSeq(0) });
  expect(presence).toBeDefined();
  registry.enter({ ref, presence })();
  await registry.close();
  expect(announced).toEqual([]);
});

const REFUSED = new RepriseError("unauthenticated", "It is revoked.");

test("a tenant's change breaks off those of its streams that may be read no longer, and no others", () => {
  const revoked = new Set<Principal>();
  const { registry } = openRegistry({
    renew: (principal) => {
      if (revoked.has(principal)) throw REFUSED;
      return principal;
    },
  });
  const [acme, beta] = [parseTenantId("acme"), parseTenantId("beta")];
  const streams = [acme, acme, beta].map((tenant) => recordingStream(createPrincipal({ tenant })));
  for (const { stream } of streams) registry.enter({ ref: createRef(), stream });
  for (const i of [0, 2]) revoked.add(streams[i]!.stream.principal);
  registry.recheck(acme);
  expect(streams.map(({ calls }) => calls)).toEqual([[["fail", "unauthenticated"]], [], []]);
});

test("a tenant's change ends its long-polls that may wait no longer, and no others", () => {
  const revoked = createPrincipal();
  const { registry } = openRegistry({
    renew: (principal) => {
      if (principal === revoked) throw REFUSED;
      return principal;
    },
  });
  const ended: string[] = [];
  const enter = (principal: Principal) =>
    registry.enter({
      ref: createRef(),
      waiting: {
        principal,
        role: "read",
        fail: ({ code }) => void ended.push(`${principal.holder} ${code}`),
      },
    });
  enter(createPrincipal({ holder: "bob" }));
  const leave = enter(revoked);
  expect(registry.streams).toBe(0);
  registry.recheck(parseTenantId("beta"));
  expect(ended).toEqual([]);
  registry.recheck(revoked.tenant);
  leave();
  registry.recheck(revoked.tenant);
  expect(ended).toEqual(["ann unauthenticated"]);
});

test("a stream is broken off within a second of the time when its token expires", () => {
  const { registry } = openRegistry({
    renew: (principal) => {
      if (principal.expiresAtMs <= Date.now()) throw REFUSED;
      return principal;
    },
  });
  const expiresAtMs = plusMs(unixNow(), 60_000);
  const { calls, stream } = recordingStream(createPrincipal({ expiresAtMs }));
  registry.enter({ ref: createRef(), stream });
  const failed = () => calls.some((call) => (call as unknown[])[0] === "fail");
  vi.advanceTimersByTime(59_999);
  expect(failed()).toBe(false);
  vi.advanceTimersByTime(1_001);
  expect(failed()).toBe(true);
});
