import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { asSeq, RepriseError } from "@reprise/protocol";
import { completed, delta, moderatedPolicy, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Reader } from "../readers/reader.ts";
import { createPrincipal } from "../testing/principal.ts";
import { openCache } from "./cache.fixture.ts";
import { ProjectedCaches } from "./projected-caches.ts";
import { readSettled, type SettledPorts } from "./read-settled.ts";
import { echo } from "./test-projection.fixture.ts";

/** A call that is answered with what a cache comes to. */
function openCall(opened = openCache()) {
  const { cache, hub } = opened;
  const readers = new Set<Reader>();
  const draining = new AbortController();
  const context: SettledPorts = {
    hub: { ...hub, open: async () => cache, refresh: async () => {} },
    projections: new ProjectedCaches(hub),
    authentication: { renewReader: (principal) => principal },
    readers: { enter: (reader) => (readers.add(reader), () => void readers.delete(reader)) },
    draining: draining.signal,
  };
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false });
  const read = (wait: boolean) =>
    readSettled(context, { raw } as unknown as FastifyReply, {
      ref: cache.ref,
      protocol: "openai-chat",
      caller: { by: "ann", address: "public" },
      principal: createPrincipal(),
      role: "read",
      fold: echo,
      wait,
    });
  return { ...opened, readers, draining, raw, read };
}

test("an answer that does not wait has what is settled by now", async () => {
  const { feed, read } = openCall();
  feed(started(), delta("a"));
  expect(await read(false)).toMatchObject({
    state: { text: "a", ended: false },
    isOver: false,
    lastSeq: 2,
    log: { lastSeq: 2, ended: false },
  });
});

test("an answer that waits has everything, and its caller counts as a reader meanwhile", async () => {
  const { feed, read, readers, raw } = openCall();
  feed(started(), delta("a"));
  const answer = read(true);
  await expect.poll(() => [...readers].map(({ waiting }) => waiting !== undefined)).toEqual([true]);
  feed(delta("b"), completed());
  expect(await answer).toMatchObject({ state: { text: "ab", ended: true }, isOver: true, lastSeq: 4 });
  raw.writableFinished = true;
  expect([...readers].map(({ record }) => record?.mark())).toMatchObject([
    { protocol: "openai-chat", from_seq: 1, seq: 4 },
  ]);
  raw.emit("close");
  expect(readers.size).toBe(0);
});

test("an answer that waits has nothing that moderation did not clear, and waits for that", async () => {
  const opened = openCache(moderatedPolicy({ mode: "retract" }));
  const { feed, read, cache } = openCall(opened);
  feed(started(), delta("a"), completed());
  expect(await read(false)).toMatchObject({
    state: { text: "" },
    lastSeq: 0,
    log: { lastSeq: 3, ended: true },
  });
  const answer = read(true);
  cache.shown.acceptVerdict({ judged: asSeq(3), cleared: asSeq(3), decided: asSeq(0) });
  cache.notify(() => {});
  expect(await answer).toMatchObject({ state: { text: "a" }, isOver: true });
});

test("a client that leaves is not answered", async () => {
  const { read, raw, readers } = openCall();
  const answer = read(true);
  await expect.poll(() => readers.size).toBe(1);
  raw.emit("close");
  expect([await answer, readers.size]).toEqual([undefined, 0]);
});

test("a node that drains answers no waiting reader", async () => {
  const { read, draining, readers } = openCall();
  const answer = read(true);
  await expect.poll(() => readers.size).toBe(1);
  draining.abort();
  await expect(answer).rejects.toMatchObject({ code: "draining" });
});

test("a caller that may read no longer is told so", async () => {
  const { read, readers } = openCall();
  const answer = read(true);
  await expect.poll(() => readers.size).toBe(1);
  for (const { waiting } of readers) waiting?.fail(new RepriseError("unauthenticated", "expired"));
  await expect(answer).rejects.toMatchObject({ code: "unauthenticated" });
});

test("an answer does not wait for moderation that is unavailable", async () => {
  const { feed, read } = openCall(openCache(moderatedPolicy({ mode: "gate" })));
  feed(started(), { type: "moderation.unavailable", answer: "fail_closed", judged_seq: asSeq(0) });
  await expect(read(true)).rejects.toMatchObject({ code: "moderation_unavailable" });
});
