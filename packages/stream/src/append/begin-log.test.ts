import { encodeEvent, RepriseError, asSeq } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Publish, PublishOutcome } from "@reprise/broker";
import { newRef, openWorld, requested, type World } from "../testing/world.ts";
import { beginLog, type BeginLogOptions } from "./begin-log.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Log = { readonly payload: Uint8Array; readonly streamSeq: number };

/** Begins a log of its own; `stored` is what its leader has then. */
async function begin(overrides: Partial<BeginLogOptions<Log>> = {}) {
  const ref = newRef();
  const publish = vi.fn<Publish>(overrides.publish ?? world.log.publish);
  const begun = await beginLog<Log>({
    connection: world.broker.main,
    onError: () => expect.unreachable(),
    ref,
    payload: encodeEvent(asSeq(0), requested(ref)),
    first: "publish",
    read: () => world.log.leader.readLast(ref),
    budgetMs: 60_000,
    ...overrides,
    publish,
  });
  return { begun, publish, stored: await world.log.leader.readLast(ref) };
}

const unavailable = async (): Promise<never> => {
  throw new RepriseError("broker_unavailable", "No answer.");
};
const unanswered: PublishOutcome = { kind: "unavailable", reason: "timeout" };

test("writes the first event, and says where it is stored", async () => {
  const { begun, stored } = await begin();
  expect(begun).toEqual({ kind: "written", streamSeq: stored?.streamSeq });
});

test("reads before it writes when another writer may have been faster", async () => {
  const log = { payload: new Uint8Array(), streamSeq: 7 };
  const { begun, publish } = await begin({ first: "read", read: async () => log });
  expect(begun).toEqual({ kind: "found", log });
  expect(publish).not.toHaveBeenCalled();
});

test("finds what another writer has stored, after a conflict", async () => {
  const log = { payload: new Uint8Array(), streamSeq: 7 };
  const publish: Publish = async () => ({ kind: "conflict" });
  const { begun } = await begin({ publish, read: unavailable, readLeader: async () => log });
  expect(begun).toEqual({ kind: "found", log });
});

test("finds its own event when only the answer to its publish was lost", async () => {
  const lossy: Publish = async (...message) => {
    await world.log.publish(...message);
    return unanswered;
  };
  const { begun, publish, stored } = await begin({ publish: lossy });
  expect(begun).toEqual({ kind: "found", log: stored });
  expect(publish).toHaveBeenCalledTimes(1);
});

test("publishes again while the broker answers neither a publish nor a read", async () => {
  let isAway = true;
  const publish: Publish = async (...message) => {
    if (!isAway) return world.log.publish(...message);
    isAway = false;
    return unanswered;
  };
  const { begun, publish: published } = await begin({ publish, read: unavailable });
  expect(begun.kind).toBe("written");
  expect(published).toHaveBeenCalledTimes(2);
});

test("gives up once its budget is used up", async () => {
  const publish: Publish = async () => unanswered;
  await expect(begin({ publish, read: unavailable, budgetMs: 0 })).rejects.toMatchObject({
    code: "broker_unavailable",
    retryable: true,
  });
});

test("passes on why a log can't be read", async () => {
  const read = async () => {
    throw new RepriseError("generation_erased", "It was erased.");
  };
  await expect(begin({ first: "read", read })).rejects.toMatchObject({ code: "generation_erased" });
});
