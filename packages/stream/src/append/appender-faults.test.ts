import { peekSeq } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PublishOutcome } from "@reprise/broker";
import { createFaultyPublish, FATES, type Fate } from "../testing/faulty-publish.ts";
import { denseSeqs, readBack, seqsOf, textOf } from "../testing/read-back.ts";
import { appendOne, appenderOf, delta, newRef, openWorld, requested, writeLog } from "../testing/world.ts";

test.each<[string, Fate]>([
  ["whose acknowledgement is lost", "answer_lost"],
  ["that is lost itself", "lost"],
  ["that was given up and arrives before its retry", "late_before_next"],
  ["that was given up and arrives after its retry", "late_after_next"],
])("an append %s is stored once", async (_, fate) => {
  await using world = await openWorld();
  const ref = newRef();
  const publish = createFaultyPublish(world.log.publish, (call) => (call === 1 ? fate : "delivered"));
  const told: number[] = [];
  const appender = appenderOf(world.log, ref, {
    publish,
    onStored: ({ payload }) => told.push(peekSeq(payload)),
  });
  for (const draft of [requested(ref), delta("a"), delta("b"), delta("c")]) await appendOne(appender, draft);
  const events = await readBack(world.log, ref);
  expect(textOf(events)).toBe("abc");
  expect(seqsOf(events)).toEqual(denseSeqs(4));
  expect(told).toEqual(denseSeqs(4));
});

test("stores and reports every event once, in order, when publishes and answers are lost, delayed or refused", async () => {
  await using world = await openWorld();
  const texts = Array.from({ length: 12 }, (_, i) => `${i} `);
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.constantFrom(...FATES)), async (fates) => {
      const ref = newRef();
      const publish = createFaultyPublish(world.log.publish, () => fates.next().value!);
      const told: number[] = [];
      const appender = appenderOf(world.log, ref, {
        publish,
        onStored: ({ payload }) => told.push(peekSeq(payload)),
      });
      await appendOne(appender, requested(ref));
      for (const text of texts) await appendOne(appender, delta(text));
      const events = await readBack(world.log, ref);
      expect(textOf(events)).toBe(texts.join(""));
      expect(told).toEqual(denseSeqs(13));
    }),
    { numRuns: 12 },
  );
});

test("with a rival on the same log and unreliable publishes on both sides, each event is stored once", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.constantFrom(...FATES)), async (fates) => {
      const ref = newRef();
      const publish = () => createFaultyPublish(world.log.publish, () => fates.next().value!);
      const rivals = ["a", "b"].map((text) => ({
        text,
        appender: appenderOf(world.log, ref, { publish: publish() }),
      }));
      await Promise.all(
        rivals.map(async ({ text, appender }) => {
          for (let i = 0; i < 10; i++) await appendOne(appender, delta(`${text}${i} `));
        }),
      );
      const events = await readBack(world.log, ref);
      expect(seqsOf(events)).toEqual(denseSeqs(20));
      const words = textOf(events).trim().split(" ");
      for (const { text } of rivals)
        expect(words.filter((word) => word.startsWith(text))).toEqual(
          denseSeqs(10).map((i) => `${text}${i}`),
        );
    }),
    { numRuns: 6 },
  );
});

test("a broker that crashes under load and comes back has everything that was acknowledged, once, and appends continue", async () => {
  await using world = await openWorld();
  const crashed = Promise.withResolvers<void>();
  let isBack = false;
  const runs = Array.from({ length: 30 }, () => {
    const ref = newRef();
    const acked: number[] = [];
    const enough = Promise.withResolvers<void>();
    let sent = 0;
    let afterReturn = 0;
    const appendNext = () => appender.append(delta(`${sent++} `));
    const appender = appenderOf(world.log, ref, {
      onStored: ({ payload }) => {
        acked.push(peekSeq(payload));
        if (acked.length === 50) crashed.resolve();
        if (isBack && ++afterReturn === 50) enough.resolve();
        else appendNext();
      },
    });
    appendNext();
    return {
      ref,
      appender,
      acked,
      enough: enough.promise,
      sentTexts: () =>
        denseSeqs(sent)
          .map((i) => `${i} `)
          .join(""),
    };
  });
  await crashed.promise;
  await world.server.kill("SIGKILL");
  await world.server.restart();
  isBack = true;
  await Promise.all(runs.map(({ enough }) => enough));
  for (const { ref, appender, acked, sentTexts } of runs) {
    expect(await appender.settled()).toEqual({ kind: "open" });
    const events = await readBack(world.log, ref);
    expect(acked).toEqual(denseSeqs(acked.length));
    expect(seqsOf(events)).toEqual(denseSeqs(acked.length));
    expect(textOf(events)).toBe(sentTexts());
  }
  expect(world.errors).toEqual([]);
});

test("an appender fails when the broker stays away for longer than the retry budget, and takes nothing more", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const { head } = await writeLog(world.log, ref, 1);
  const appender = appenderOf(world.log, ref, { head, retryBudgetMs: 300 });
  await world.server.stop();
  await appendOne(appender, delta("lost"));
  expect(appender.state).toMatchObject({ kind: "failed", error: { code: "broker_unavailable" } });
  appender.append(delta("more"));
  expect(appender.backlog).toBe(0);
});

test("a pause of the broker that is shorter than the retry budget is waited out", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const { head } = await writeLog(world.log, ref, 1);
  const outcomes: PublishOutcome["kind"][] = [];
  const refused = Promise.withResolvers<void>();
  const appender = appenderOf(world.log, ref, {
    head,
    publish: async (...args) => {
      const outcome = await world.log.publish(...args);
      outcomes.push(outcome.kind);
      if (outcome.kind === "unavailable") refused.resolve();
      return outcome;
    },
  });
  await world.server.stop();
  appender.append(delta("waited"));
  await refused.promise;
  await world.server.restart();
  expect(await appender.settled()).toEqual({ kind: "open" });
  expect(outcomes.at(-1)).toBe("stored");
  expect(textOf(await readBack(world.log, ref))).toBe("1 waited");
});
