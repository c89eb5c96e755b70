import { peekType, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { follow } from "../testing/follow.ts";
import { moderatedRequest, redacted } from "@reprise/moderation/testing";
import { openHub } from "../testing/open-hub.ts";
import { appenderOf, appendOne, delta, newRef, openWorld, requested, started } from "../testing/world.ts";

const ERASED = { code: "generation_erased", retryable: false };

test("an erased generation is in no memory any more, and its readers are told at once", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  for (const draft of [requested(ref), started(), delta("secret")]) await appendOne(appender, draft);
  const cache = await opened.hub.open(ref);
  const reading = follow(cache);
  opened.hub.erase(ref);
  await expect(reading).rejects.toMatchObject(ERASED);
  expect([opened.hub.stats, cache.bytes]).toMatchObject([{ caches: 0, bytes: 0 }, 0]);
  expect([1, 2].map((seq) => cache.shown.view(asSeq(seq), 1_000))).toEqual([undefined, undefined]);
  await expect(opened.hub.readHistory(cache, asSeq(1))).rejects.toMatchObject(ERASED);
  expect([opened.isListening(), world.errors]).toEqual([false, []]);
});

test("a generation that is erased while its log is read is not served", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, requested(ref));
  const { promise: read, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: reading, resolve: begun } = Promise.withResolvers<void>();
  using opened = openHub(world, {
    reader: {
      ...world.log.reader,
      async readLog(asked) {
        const snapshot = await world.log.reader.readLog(asked);
        begun();
        await read;
        return snapshot;
      },
    },
  });
  const opening = opened.hub.open(ref);
  await reading;
  opened.hub.erase(ref);
  goOn();
  await expect(opening).rejects.toMatchObject(ERASED);
  expect([opened.hub.stats.caches, opened.isListening()]).toEqual([0, false]);
});

test("onWithdrawn is called before a withdrawal changes any view, and for nothing else", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, moderatedRequest(ref, { mode: "retract" }));
  for (const draft of [started(), delta("secret")]) await appendOne(appender, draft);
  const cache = await opened.hub.open(ref);
  const heard: unknown[] = [];
  const stop = cache.shown.onWithdrawn((seq) =>
    heard.push([seq, cache.shown.payloadAt(asSeq(2))?.toString()]),
  );
  await appendOne(appender, redacted(2, 2));
  await opened.hub.refresh(cache);
  expect(heard).toEqual([[3, expect.stringContaining("secret")]]);
  expect([peekType(cache.shown.payloadAt(asSeq(2))!), cache.shown.payloadAt(asSeq(2))!.toString()]).toEqual([
    "output.delta",
    expect.not.stringContaining("secret"),
  ]);
  stop();
  await appendOne(appender, redacted(2, 2));
  await opened.hub.refresh(cache);
  expect(heard).toHaveLength(1);
});
