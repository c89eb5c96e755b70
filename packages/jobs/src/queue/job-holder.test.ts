import type { Msg } from "@nats-io/transport-node";
import { createGenerationId, parseWorkerId, workerSubject } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { answerHolderQueries, isHeld } from "./job-holder.ts";
import { inboxOf } from "@reprise/broker";
import { openWorld } from "@reprise/stream/testing";

const worker = parseWorkerId("worker-1");
const generation = createGenerationId(new Uint8Array(17).fill(7), 1);
const other = createGenerationId(new Uint8Array(17).fill(9), 1);

afterEach(() => {
  vi.useRealTimers();
});

test("a worker answers that it runs a generation for those that it runs, and for no other", async () => {
  await using world = await openWorld();
  const stop = answerHolderQueries(world.broker.reads, worker, (asked) => asked === generation);
  await eventually(async () => expect(await isHeld(world.broker.main, worker, generation)).toBe(true));
  expect(await isHeld(world.broker.main, worker, other)).toBe(false);
  stop();
});

test("a worker that answers late, since a broker that had stood still sends it much at once, holds its generation", async () => {
  await using world = await openWorld();
  const { main, reads } = world.broker;
  const heard = Promise.withResolvers<Msg>();
  reads.subscribe(workerSubject(worker), { callback: (_error, msg) => heard.resolve(msg) });
  const silent = "_INBOX_test.silent";
  reads.subscribe(silent, { callback: () => undefined });
  await reads.flush();
  vi.useFakeTimers({ toFake: ["performance"] });
  const asked = isHeld(main, worker, generation);
  const question = await heard.promise;
  vi.advanceTimersByTime(1_500);
  // What has waited for too long by now is given up in the same turn as this request.
  expect(await inboxOf(main).ask(silent, "", 0)).toBe("timeout");
  question.respond("+");
  expect(await asked).toBe(true);
});

test("a worker that is not there is not waited for, unless connections have just come back", async () => {
  await using world = await openWorld();
  expect(await isHeld(world.broker.main, worker, generation)).toBe(false);
  // Simulates connections that keep coming back for a minute: the test does not depend on the real time of one second.
  const asked = isHeld(world.broker.main, worker, generation, () => performance.now() + 60_000);
  // The broker has answered "no responders" once before this worker is back.
  await isHeld(world.broker.main, worker, generation);
  answerHolderQueries(world.broker.reads, worker, () => true);
  expect(await asked).toBe(true);
});

test("a worker that is not there is asked for while the connection is away, and given up when it has been back for a while", async () => {
  await using world = await openWorld();
  let connectedAtMs = Number.POSITIVE_INFINITY;
  const asked = isHeld(world.broker.main, worker, generation, () => connectedAtMs);
  const once = isHeld(world.broker.main, worker, generation).then(() => "asks on");
  expect(await Promise.race([asked, once])).toBe("asks on");
  connectedAtMs = Number.NEGATIVE_INFINITY;
  expect(await asked).toBe(false);
});
