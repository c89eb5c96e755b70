import { asSeq } from "@reprise/protocol";
import { eventually, redacted } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { LogReader } from "../read/log-reader.ts";
import { openHub } from "../testing/open-hub.ts";
import {
  appenderOf,
  appendOne,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
} from "../testing/world.ts";

test("a late event that is announced while a lagging replica is read for a new cache is in that cache", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  for (const draft of [requested(ref), started(), delta("secret"), completed()])
    await appendOne(appender, draft);
  const stale = await world.log.reader.readLog(ref);
  await appendOne(appender, redacted(2));
  const announced = Promise.withResolvers<void>();
  const readLog: LogReader["readLog"] = async () => {
    await announced.promise;
    return stale;
  };
  using opened = openHub(world, { reader: { ...world.log.reader, readLog }, probeMs: 600_000 });
  const opening = opened.hub.open(ref);
  opened.hub.expect(ref, asSeq(4));
  announced.resolve();
  const cache = await opening;
  await eventually(() => expect(cache.lastSeq).toBe(4));
  expect(world.errors).toEqual([]);
});
