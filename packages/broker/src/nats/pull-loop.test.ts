import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PullLoop, type PullLoopOptions, RENEW_MS } from "./pull-loop.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pull loop over a connection without a broker. */
function openLoop(options: Partial<PullLoopOptions> = {}) {
  const inboxes = new Map<string, (msg: Msg) => void>();
  const pulls: string[] = [];
  const seen: unknown[] = [];
  let isClosed = false;
  const connection: Partial<NatsConnection> = {
    isClosed: () => isClosed,
    isDraining: () => false,
    status: async function* () {},
    subscribe: (inbox, subscription) => {
      inboxes.set(inbox, (msg) => void subscription?.callback?.(null, msg));
      const forget = () => void inboxes.delete(inbox);
      return { getSubject: () => inbox, unsubscribe: forget, drain: async () => {} } as never;
    },
    publish: (_subject, _payload, published) => void pulls.push(published?.reply ?? ""),
  };
  const loop = new PullLoop({
    connection: connection as NatsConnection,
    stream: "S",
    consumer: "c",
    nextRequest: () => ({ batch: 1, max_bytes: 1, expires: 1 }),
    isAsking: () => true,
    onMessage: (msg) => seen.push(msg.data.length),
    onEnd: ({ reason, unused }) => seen.push(`${reason} ${unused}`),
    onLost: () => seen.push("lost"),
    onError: (error) => seen.push(error),
    ...options,
  });
  const receive = (code: number, unused?: string, data = "") => {
    const headers = { code, get: () => unused ?? "" };
    for (const deliver of inboxes.values()) deliver({ data: Buffer.from(data), headers } as unknown as Msg);
  };
  const renew = (times = 1) => vi.advanceTimersByTime(times * RENEW_MS);
  return { loop, pulls, seen, inboxes, receive, renew, close: () => void (isClosed = true) };
}

test.each([
  [408, "3", "expired 3"],
  [408, undefined, "expired Infinity"],
  [409, "0", "expired 0"],
  [409, undefined, "refused Infinity"],
  [423, "5", "unpinned 5"],
  [503, undefined, "no_responders Infinity"],
  [400, undefined, "refused Infinity"],
])("a status %s with %s unused messages ends a request: %s", (code, unused, end) => {
  const { receive, seen } = openLoop();
  receive(code, unused);
  expect(seen).toEqual([end]);
});

test("passes on messages, also one without content, and no heartbeat", () => {
  const { receive, seen } = openLoop();
  receive(0, undefined, "four");
  receive(0);
  receive(100);
  expect(seen).toEqual([4, 0]);
});

test("renews its requests, and asks again over another inbox when four renewals in a row had no answer before them", () => {
  const { renew, pulls, seen, inboxes } = openLoop();
  renew(3);
  expect([pulls.length, new Set(pulls).size, seen]).toEqual([4, 1, []]);
  renew();
  expect([pulls.length, new Set(pulls).size, seen, inboxes.size]).toEqual([5, 2, ["lost"], 1]);
});

test("any answer, a heartbeat included, ends the silence", () => {
  const { renew, receive, pulls } = openLoop();
  for (let round = 0; round < 3; round++) {
    renew(3);
    receive(100);
  }
  expect(new Set(pulls).size).toBe(1);
});

test("silence counts only while the broker owes an answer", () => {
  const { renew, pulls } = openLoop({ isAsking: () => false });
  renew(10);
  expect(new Set(pulls).size).toBe(1);
});

test("publishes nothing when there is nothing to ask for", () => {
  const { renew, pulls } = openLoop({ nextRequest: () => undefined });
  renew(10);
  expect(pulls).toEqual([]);
});

test("asks for nothing more once it is stopped, drained or without a connection", () => {
  for (const end of ["stop", "drain", "close"] as const) {
    const { loop, renew, pulls, close } = openLoop();
    if (end === "close") close();
    else loop[end]();
    renew(10);
    loop.pull();
    expect(pulls).toHaveLength(1);
  }
});

test("takes what is under way while it drains, and nothing once it is stopped", () => {
  const { loop, receive, seen } = openLoop();
  loop.drain();
  receive(0, undefined, "four");
  loop.stop();
  receive(0, undefined, "four");
  expect(seen).toEqual([4]);
});
