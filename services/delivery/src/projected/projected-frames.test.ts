import { asSeq, type EffectivePolicy, type EventDraft } from "@reprise/protocol";
import { completed, delta, moderatedPolicy, redacted, started } from "@reprise/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectedFrames, framesIn, openCache } from "./cache.fixture.ts";
import { echo, type EchoState } from "./test-projection.fixture.ts";
import { PrivatePass } from "./private-pass.ts";
import { ProjectedFrames } from "./projected-frames.ts";

const VIEW_BYTES = 64 * 1_024;

const anyDraft: fc.Arbitrary<EventDraft> = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }).map(delta) },
  { weight: 1, arbitrary: fc.constant<EventDraft>({ type: "output.annotation", kind: "x" } as never) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 9 }).map((attempt) => started(attempt)) },
);
const anyLog = fc.array(anyDraft, { maxLength: 60 });

function open({ policy, ...options }: Partial<typeof echo> & { policy?: EffectivePolicy } = {}) {
  const opened = openCache(policy);
  const projection = { ...echo, ...options };
  const frames = new ProjectedFrames({ hub: opened.hub, cache: opened.cache, projection, ids: true });
  opened.cache.attach(frames);
  return { ...opened, frames };
}

/** Reads from a position on: the shared frames, or frames made for this reader alone if those are no longer kept. */
async function read(frames: ProjectedFrames, from: number): Promise<string[]> {
  await frames.catchUp();
  const sent: string[] = [];
  const pass = new PrivatePass(frames.source);
  for (let position = from; position < frames.count;) {
    const source = position < frames.first ? await pass.next(position) : frames;
    const view = source.view(position, VIEW_BYTES);
    if (!view) throw new Error(`no frame ${position}`);
    sent.push(...framesIn(view.bytes));
    position = view.next;
  }
  pass.stop();
  return sent;
}

describe("of any log, projected once,", () => {
  test("prefix and resumed suffix are the whole, at every cut, also where frames and events are kept no longer", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyLog,
        fc.nat(),
        fc.boolean(),
        fc.boolean(),
        async (drafts, at, isTrimmed, isEventsTrimmed) => {
          const { cache, feed, frames } = open();
          feed(started(), ...drafts, completed());
          const whole = expectedFrames(cache);
          const cut = at % (whole.length + 1);
          expect(await read(frames, 0)).toEqual(whole);
          const stop = frames.listen(() => {});
          if (isTrimmed) frames.trim();
          if (isEventsTrimmed) cache.trim(0);
          expect([...whole.slice(0, cut), ...(await read(frames, cut))]).toEqual(whole);
          stop();
          expect(frames.hasEnded).toBe(true);
        },
      ),
    );
  });

  test("every position lies after the events whose frames come before it, and before the next one's", async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (drafts) => {
        const { cache, feed, frames } = open();
        feed(started(), ...drafts, completed());
        await frames.catchUp();
        const ends = [0];
        for (let seq = 1; seq <= cache.lastSeq; seq++) {
          const { feed: feedPart, frames: part } = open();
          feedPart(...[started(), ...drafts, completed()].slice(0, seq));
          await part.catchUp();
          ends.push(part.count);
        }
        for (let position = 0; position <= frames.count; position++)
          expect(frames.seqBefore(position)).toBe(ends.findLastIndex((end) => end <= position));
      }),
      { numRuns: 20 },
    );
  });
});

test("frames are made as events come, each once, whoever asks", async () => {
  const { feed, frames } = open();
  let projected = 0;
  const counted = new ProjectedFrames({
    ...frames.source,
    projection: { ...echo, project: (state: never, event) => (projected++, echo.project(state, event)) },
  });
  feed(started(), delta("a"));
  expect([counted.advance(), counted.advance(), counted.count]).toEqual(["advanced", "settled", 2]);
  feed(delta("b"), completed());
  await Promise.all([counted.catchUp(), counted.catchUp()]);
  expect([counted.count, counted.hasEnded, projected]).toEqual([6, true, 4]);
});

test("a window takes eight times the memory of the events at most, or 64 KiB", async () => {
  const { cache, feed, frames } = open({
    project(state, event) {
      const made = echo.project(state, event);
      return { ...made, frames: made.frames.flatMap((frame) => Array.from({ length: 16 }, () => frame)) };
    },
  });
  const most = () => Math.max(64 * 1_024, 8 * cache.shown.frames.bytes);
  feed(started());
  for (let i = 0; i < 5_000; i++) {
    feed(delta(`${i} `));
    if (i % 100 === 0) await frames.catchUp();
    expect(frames.windowBytes).toBeLessThanOrEqual(most());
  }
  await frames.catchUp();
  expect(frames.first).toBeGreaterThan(0);
  expect(frames.windowBytes).toBeLessThanOrEqual(most());
  expect(cache.bytes).toBeGreaterThanOrEqual(cache.shown.frames.bytes + frames.bytes);
});

test("a slice of large events is short", async () => {
  const { feed, frames } = open();
  feed(started(), ...Array.from({ length: 10 }, () => delta("x".repeat(100 * 1_024))));
  expect(frames.advance()).toBe("busy");
  expect(frames.seq).toBe(4);
  await frames.catchUp();
  expect(frames.seq).toBe(11);
});

test("without readers a window is forgotten first when memory is short, and is there again when one asks", async () => {
  const { cache, feed, frames } = open();
  feed(started(), delta("a"), completed());
  await frames.catchUp();
  cache.trim(cache.shown.frames.bytes);
  expect(frames.bytes).toBe(0);
  expect(await read(frames, 2)).toEqual(expectedFrames(cache).slice(2));
});

describe("what a projection keeps of the text", () => {
  const CHARACTERS = 400_000;
  const text = () => Array.from({ length: 200 }, () => delta("x".repeat(CHARACTERS / 200)));

  test("counts as memory of the cache, and goes with the last reader", async () => {
    const { cache, feed, frames } = open();
    feed(started(), ...text());
    await frames.catchUp();
    const stop = frames.listen(() => {});
    cache.trim(0);
    expect((frames.state as EchoState).text).toHaveLength(CHARACTERS);
    expect(cache.bytes).toBeGreaterThan(CHARACTERS);
    stop();
    cache.trim(0);
    expect((frames.state as EchoState).text).toBe("");
    expect(cache.bytes).toBeLessThan(CHARACTERS);
  });

  test("counts for little where it keeps none", async () => {
    const { cache, feed, frames } = open({ isTextless: true });
    feed(started(), ...text());
    await frames.catchUp();
    cache.trim(0);
    const stop = frames.listen(() => {});
    expect(frames.bytes - frames.windowBytes).toBeLessThan(CHARACTERS / 10);
    stop();
  });

  test("counts for each reader that has a pass of its own, until it has gone", async () => {
    const { cache, feed, frames } = open();
    feed(started(), ...text());
    const before = cache.bytes;
    const pass = new PrivatePass(frames.source);
    await pass.next(200);
    expect(cache.bytes - before).toBeGreaterThan(CHARACTERS / 2);
    pass.stop();
    expect(cache.bytes).toBe(before);
  });
});

describe("text that is withdrawn after it was folded", () => {
  test("is in no frame any more, and every position is what it was", async () => {
    const { cache, feed, frames } = open();
    feed(started(), delta("a "), delta("SECRET"), delta(" b"));
    const before = await read(frames, 0);
    feed(redacted(3), completed());
    const after = await read(frames, 0);
    expect(after).toEqual(expectedFrames(cache));
    expect(after.join("")).not.toContain("SECRET");
    expect(after.length).toBe(before.length + 2);
    expect(after[0]).toBe(before[0]);
  });

  test("is in no frame that is made from the log for one reader", async () => {
    const { cache, feed, frames } = open();
    feed(started(), delta("SECRET"), ...Array.from({ length: 200 }, () => delta("x".repeat(2_000))));
    await frames.catchUp();
    const pass = new PrivatePass(frames.source);
    expect(framesIn((await pass.next(0)).view(0, VIEW_BYTES)!.bytes)[0]).toContain("SECRET");
    feed(redacted(2));
    cache.trim(0);
    const [again] = framesIn((await pass.next(0)).view(0, VIEW_BYTES)!.bytes);
    expect(again).toContain("[redacted]");
    expect(again).not.toContain("SECRET");
  });
});

describe("readers of a projection are shown what a gate shows,", () => {
  const verdict = (judged: number, cleared = judged, decided = 0) => ({
    judged: asSeq(judged),
    cleared: asSeq(cleared),
    decided: asSeq(decided),
  });

  test.each(["gate", "retract"] as const)("where the policy says %s", async (mode) => {
    const { cache, feed, frames } = open({ policy: moderatedPolicy({ mode }) });
    feed(started(), delta("a "), delta("SECRET"), delta(" b"));
    await frames.catchUp();
    expect(frames.count).toBe(0);
    cache.shown.acceptVerdict(verdict(4, 2));
    await frames.catchUp();
    expect(frames.count).toBe(2);
    feed(redacted(3), completed());
    cache.shown.acceptVerdict(verdict(6, 6, 5));
    await frames.catchUp();
    expect(frames.hasEnded && cache.isSettled).toBe(true);
    const sent = (await read(frames, 0)).join("");
    expect(sent).toContain("[redacted]");
    expect(sent).not.toContain("SECRET");
  });

  test("and everything at once where it says observe", async () => {
    const { cache, feed, frames } = open({ policy: moderatedPolicy({ mode: "observe" }) });
    feed(started(), delta("a"), completed());
    await frames.catchUp();
    expect([frames.count, frames.hasEnded, cache.isSettled]).toEqual([4, true, true]);
  });
});

test("a long log is folded in slices, and what waits is told", async () => {
  const { feed, frames } = open();
  feed(started(), ...Array.from({ length: 1_000 }, (_, i) => delta(`${i}`)));
  let told = 0;
  const stop = frames.listen(() => told++);
  expect(frames.advance()).toBe("busy");
  await frames.catchUp();
  stop();
  expect(frames.count).toBe(2_000);
  expect(told).toBeGreaterThan(2);
});

test("what can't be read from the log is told to whoever waits, and tried again", async () => {
  const { cache, feed, frames, hub } = open();
  feed(started(), ...Array.from({ length: 100 }, () => delta("x".repeat(3_000))));
  cache.trim(0);
  hub.isAway = true;
  await expect(frames.catchUp()).rejects.toMatchObject({ code: "broker_unavailable" });
  hub.isAway = false;
  await frames.catchUp();
  expect(frames.count).toBe(200);
});
