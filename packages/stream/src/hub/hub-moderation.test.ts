import {
  encodeEvent,
  type EffectiveModeration,
  type GenerationRef,
  logSubject,
  type Verdict,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { eventually, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Appender } from "../append/appender.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";
import { createHostileFeed, FEED_FATES } from "../testing/hostile-feed.ts";
import { follow } from "../testing/follow.ts";
import { moderatedRequest, redacted, verdict } from "@reprise/moderation/testing";
import { openHub } from "../testing/open-hub.ts";
import { shownText } from "../testing/plain-framing.ts";
import { appenderOf, appendOne, completed, delta, newRef, openWorld, type World } from "../testing/world.ts";
import { publishLiveVerdict, storeVerdict } from "@reprise/moderation";

/** Starts a generation with one text event for each text, and returns its appender. */
async function begin(
  { log }: World,
  ref: GenerationRef,
  moderation: Partial<EffectiveModeration>,
  texts: readonly string[] = ["a", "b"],
): Promise<Appender> {
  const appender = appenderOf(log, ref);
  await appendOne(appender, moderatedRequest(ref, moderation));
  for (const text of texts) await appendOne(appender, delta(text));
  return appender;
}

async function store({ log }: World, ref: GenerationRef, said: Verdict): Promise<void> {
  const stored = await log.verdicts.readVerdict(ref);
  const expectedLast = stored?.streamSeq ?? 0;
  expect(
    await storeVerdict(log.publish, ref, said, { expectedLast: asStreamSeq(expectedLast) }),
  ).toMatchObject({ kind: "stored" });
}

/** Appends after an end, where no worker's appender writes. */
async function annotate({ log }: World, ref: GenerationRef, seq: number, draft: ReturnType<typeof redacted>) {
  const expectedLast = (await log.leader.readLast(ref))!.streamSeq;
  const outcome = await log.publish(logSubject(ref), encodeEvent(asSeq(seq), draft), { expectedLast });
  expect(outcome.kind).toBe("stored");
}

test("a reader of a gate is shown what is cleared, by live verdicts and by those that are stored", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = await begin(world, ref, { mode: "gate" });
  await store(world, ref, verdict(1));
  const cache = await opened.hub.open(ref);
  expect(shownText(cache)).toBe("a");
  publishLiveVerdict(world.broker.main, ref, verdict(2));
  await eventually(() => expect(shownText(cache)).toBe("ab"));
  const reading = follow(cache);
  await appendOne(appender, completed());
  await eventually(() => expect([cache.ended, cache.isOver]).toEqual([true, false]));
  publishLiveVerdict(world.broker.main, ref, verdict(3));
  expect(await reading).toContain("generation.completed");
  expect(world.errors).toEqual([]);
});

test("a verdict that the live feed loses is read from what is stored while readers wait for it", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await begin(world, ref, { mode: "gate" });
  opened.mute();
  const cache = await opened.hub.open(ref);
  await store(world, ref, verdict(2));
  await eventually(() => expect(shownText(cache)).toBe("ab"));
});

test("what is settled of a retract grows by live verdicts, and by those that the live feed loses and that are stored", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = await begin(world, ref, { mode: "retract" });
  const cache = await opened.hub.open(ref);
  let told = 0;
  cache.listen(() => told++);
  expect([cache.shownSeq, cache.settledSeq]).toEqual([2, 0]);
  publishLiveVerdict(world.broker.main, ref, verdict(1));
  await eventually(() => expect([cache.settledSeq, told > 0]).toEqual([1, true]));
  opened.mute();
  await store(world, ref, verdict(2));
  await eventually(() => expect(cache.settledSeq).toBe(2));
  await appendOne(appender, completed());
  await store(world, ref, verdict(3));
  await eventually(() => expect(cache.isSettled).toBe(true));
});

test("text that is withdrawn after the end reaches no later reader, though the live feed is lost", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { probeMs: 600_000 });
  const ref = newRef();
  const appender = await begin(world, ref, { mode: "retract" });
  await appendOne(appender, completed());
  await store(world, ref, verdict(3));
  const cache = await opened.hub.open(ref);
  expect([shownText(cache), cache.isOver]).toEqual(["ab", true]);
  await annotate(world, ref, 4, redacted(1));
  await eventually(() => expect(shownText(cache)).toBe("[redacted]b"));
  opened.mute();
  await annotate(world, ref, 5, redacted(2));
  await eventually(async () => expect(shownText(await opened.hub.open(ref))).toBe("[redacted][redacted]"));
  expect(await opened.hub.open(ref)).toBe(cache);
});

test("a gate shows nothing uncleared, and in the end everything, when the live feeds lose, repeat and delay messages", async () => {
  await withSeed(20_261_122, async (random) => {
    await using world = await openWorld();
    const feed = createHostileFeed(world.broker.main, () => random.pick(FEED_FATES));
    using opened = openHub(world, { connection: feed.connection });
    const ref = newRef();
    const appender = await begin(world, ref, { mode: "gate" }, ["a"]);
    const cache = await opened.hub.open(ref);
    let [judged, decided] = [0, 0];
    const wrong: string[] = [];
    cache.listen(() => {
      if (cache.shownSeq > judged || shownText(cache).includes("SECRET")) wrong.push(shownText(cache));
    });
    const reading = follow(cache);
    for (let i = 0; i < 60; i++) {
      const isSecret = random.integer(0, 3) === 0;
      await appendOne(appender, delta(isSecret ? "SECRET" : "clean "));
      const { seq } = appender.head;
      if (isSecret) await appendOne(appender, redacted(seq));
      if (isSecret) decided = appender.head.seq;
      judged = appender.head.seq;
      const said = verdict(judged, { decided });
      if (random.integer(0, 2) === 0) await store(world, ref, said);
      else publishLiveVerdict(world.broker.main, ref, said);
    }
    await appendOne(appender, completed());
    judged = appender.head.seq;
    await store(world, ref, verdict(judged, { decided }));
    expect(await reading).not.toContain("SECRET");
    expect([wrong, cache.shownSeq]).toEqual([[], judged]);
  });
});

test("subscriptions of a moderated generation go with its cache, and others have none to verdicts", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { lingerMs: 50 });
  const [ref, plain] = [newRef(), newRef()];
  await appendOne(await begin(world, ref, { mode: "gate" }), completed());
  await begin(world, plain, { mode: "observe" });
  await opened.hub.open(plain);
  expect(opened.feed.subscriptions).toHaveLength(1);
  await opened.hub.open(ref);
  expect(opened.feed.subscriptions).toHaveLength(3);
  await eventually(() => expect(opened.hub.stats.caches).toBe(0));
  expect(opened.isListening()).toBe(false);
});

test("reports a moderation timeout once the policy's time is over, until it is taken, and again only after a new verdict", async () => {
  await using world = await openWorld();
  const told: number[] = [];
  const onUnjudged = async ({ shown }: GenerationCache) => {
    told.push(shown.visibility!.judged);
    if (told.length === 1) throw new Error("could not be recorded");
  };
  using opened = openHub(world, { onModerationTimeout: onUnjudged });
  const ref = newRef();
  await begin(world, ref, { mode: "gate", on_unavailable: { answer: "fail_closed", after_ms: 100 } });
  await opened.hub.open(ref);
  await eventually(() => expect(told).toEqual([0, 0]));
  publishLiveVerdict(world.broker.main, ref, verdict(1));
  await eventually(() => expect(told).toEqual([0, 0, 1]));
  expect(world.errors).toMatchObject([{ message: "could not be recorded" }]);
});

test("reports no timeout of moderation that keeps up", async () => {
  await using world = await openWorld();
  const told: GenerationCache[] = [];
  using opened = openHub(world, { onModerationTimeout: async (cache) => void told.push(cache) });
  const on_unavailable = { answer: "fail_closed", after_ms: 1 } as const;
  const [late, kept, lax] = [newRef(), newRef(), newRef()];
  await begin(world, kept, { mode: "gate", on_unavailable });
  await begin(world, lax, { mode: "retract", on_unavailable });
  await begin(world, late, { mode: "retract", on_unavailable });
  for (const ref of [kept, lax]) await store(world, ref, verdict(2, { cleared: 1 }));
  for (const ref of [kept, lax, late]) await opened.hub.open(ref);
  await eventually(() => expect(told).toHaveLength(1));
  expect(told[0]!.ref).toEqual(late);
});

test("text that is withdrawn from a log which this node has stopped following is gone as soon as the node is told", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { probeMs: 600_000 });
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  for (const draft of [moderatedRequest(ref, { mode: "observe" }), delta("a"), delta("b"), completed()])
    await appendOne(appender, draft);
  const cache = await opened.hub.open(ref);
  expect([shownText(cache), cache.isOver]).toEqual(["ab", true]);
  await annotate(world, ref, 4, redacted(1, 2, "***"));
  opened.hub.expect(ref, asSeq(4));
  await eventually(() => expect(shownText(cache)).toBe("***"));
  expect(await opened.hub.open(ref)).toBe(cache);
});
