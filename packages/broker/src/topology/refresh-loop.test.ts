import type { NatsConnection, Status } from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RefreshLoop } from "./refresh-loop.ts";

const STALE_MS = 5_000;
const PERIOD_MS = 500;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection that is lost and comes back when it is told to. */
function createConnection() {
  const { readable, writable } = new TransformStream<Status, Status>();
  const writer = writable.getWriter();
  const connection = { status: () => readable } as unknown as NatsConnection;
  return { connection, tell: (status: Status) => writer.write(status) };
}

function createLoop(read: () => Promise<void>) {
  const { connection, tell } = createConnection();
  const onStale = vi.fn<(what: string, failure: RepriseError | undefined) => void>();
  const loop = new RefreshLoop({ connection, what: "the list", read, onStale });
  return { loop, onStale, tell };
}

test("a follower that can't read for 5 s says so once, with the cause, and that it can again", async () => {
  let failure: RepriseError | undefined;
  const { loop, onStale } = createLoop(() => (failure ? Promise.reject(failure) : Promise.resolve()));
  await vi.advanceTimersByTimeAsync(60_000);
  failure = new RepriseError("broker_unavailable", "no such stream");
  await vi.advanceTimersByTimeAsync(STALE_MS - PERIOD_MS);
  expect(onStale).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onStale.mock.calls).toEqual([["the list", failure]]);
  failure = undefined;
  await vi.advanceTimersByTimeAsync(PERIOD_MS);
  expect(onStale.mock.calls.slice(1)).toEqual([["the list", undefined]]);
  await loop.close();
});

test("a follower that ends with what it has found, after it could not read, says that it could", async () => {
  let isThere = false;
  const { loop, onStale } = createLoop(async () => {
    if (!isThere) throw new RepriseError("broker_unavailable", "no leader");
    void loop.close();
  });
  await vi.advanceTimersByTimeAsync(STALE_MS);
  expect(onStale).toHaveBeenCalledOnce();
  isThere = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onStale.mock.calls.slice(1)).toEqual([["the list", undefined]]);
});

test("a read that is never answered counts as one that fails, and slow ones do not", async () => {
  let answer = () => new Promise<void>((resolve) => setTimeout(resolve, STALE_MS - PERIOD_MS));
  const { loop, onStale } = createLoop(() => answer());
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onStale).not.toHaveBeenCalled();
  answer = () => new Promise(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onStale.mock.calls).toEqual([["the list", expect.objectContaining({ code: "broker_unavailable" })]]);
  void loop.close();
});

test("while the connection is lost, which is told of that, nothing is told of what is followed", async () => {
  const { loop, onStale, tell } = createLoop(() => Promise.reject(new Error("no connection")));
  await tell({ type: "disconnect", server: "" });
  await vi.advanceTimersByTimeAsync(60_000);
  await tell({ type: "reconnect", server: "" });
  await vi.advanceTimersByTimeAsync(STALE_MS - PERIOD_MS);
  expect(onStale).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(PERIOD_MS);
  expect(onStale).toHaveBeenCalledOnce();
  await loop.close();
});
