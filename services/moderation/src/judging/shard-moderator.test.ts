import {
  encodeEvent,
  type KnownEvent,
  type ModerationRule,
  parseTenantId,
  RepriseError,
  reviewSubject,
  verdictSubject,
  asStreamSeq,
  asSeq,
  STREAM_START,
} from "@reprise/protocol";
import { type GenerationLog } from "@reprise/stream";
import { storeVerdict, compileRuleSet } from "@reprise/moderation";
import { WorkShares } from "@reprise/async";
import { NO_TRACING } from "@reprise/runtime/telemetry";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { ShardModerator, type IncomingEvent } from "./shard-moderator.ts";
import type { ClassifyWindow } from "./classifier-runs.ts";
import { COMPLETED, delta, STARTED } from "../testing/log-of.ts";
import { openWorld, type Written, type World } from "../testing/world.ts";

const RULES: ModerationRule[] = [{ terms: ["secret"], match: "anywhere" }];

interface Judged {
  readonly rules: ModerationRule[];
  readonly classify: ClassifyWindow;
  readonly log: GenerationLog;
  readonly shares: WorkShares;
  readonly onError: (error: unknown) => void;
}

const SHARES = { stepsPerSecond: 1e9, burst: 1e9, slice: 1e9 };

/** A shard that is judged without a consumer, by rules that are at hand at once. */
function judge(
  world: World,
  {
    rules = RULES,
    classify = async () => ({ kind: "unjudged" }),
    log = world.log,
    shares = new WorkShares(SHARES),
    onError = (error) => {
      throw error;
    },
  }: Partial<Judged> = {},
) {
  const judging = new ShardModerator({
    connection: world.broker.main,
    log,
    readRules: async (_, id) => compileRuleSet(id, rules),
    shares,
    classify,
    tracing: NO_TRACING,
    onDecided() {},
    onError,
  });
  const sweeps = setInterval(() => void judging.sweep(performance.now()), 10);
  return {
    judging,
    [Symbol.dispose]() {
      clearInterval(sweeps);
      judging.close();
    },
  };
}

async function eventsOf(world: World, { ref }: Written): Promise<IncomingEvent[]> {
  const stored = await eventually(() => world.log.leader.readTail(ref, asStreamSeq(0)));
  return stored.map(({ payload, streamSeq }) => ({ ref, payload, streamSeq }));
}

const judgedUpTo = (seq: number) => (_: KnownEvent[], verdict?: { judged: number }) =>
  verdict?.judged === seq;

test("nothing is settled before the verdict on it is stored", async () => {
  await using world = await openWorld();
  const written = await world.create(RULES);
  await written.append(STARTED, delta("clean"), delta(" and clean"));
  const events = await eventsOf(world, written);
  const [begun, mayStore] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const publish: GenerationLog["publish"] = async (subject, ...rest) => {
    if (subject === verdictSubject(written.ref)) {
      begun.resolve();
      await mayStore.promise;
    }
    return world.log.publish(subject, ...rest);
  };
  using judged = judge(world, { log: { ...world.log, publish } });
  judged.judging.take(events.slice(0, 2));
  expect(judged.judging.settledStreamSeq).toBe(events[0]!.streamSeq - 1);
  judged.judging.take(events.slice(2));
  await begun.promise;
  expect(judged.judging.settledStreamSeq).toBe(events[0]!.streamSeq - 1);
  mayStore.resolve();
  await world.until(written.ref, judgedUpTo(3));
  await expect.poll(() => judged.judging.settledStreamSeq).toBe(events.at(-1)!.streamSeq);
});

test("a generation whose beginning another replica has judged is judged from its log", async () => {
  await using world = await openWorld();
  const written = await world.create(RULES);
  await written.append(STARTED, delta("a sec"), delta("ret"), delta(" b"));
  const last = (await eventsOf(world, written)).at(-1)!;
  using judged = judge(world);
  judged.judging.take([last]);
  const { events } = await world.until(written.ref, (log) => log.length === 6);
  expect(events.at(-1)).toMatchObject({ type: "moderation.redacted", from_seq: 2, to_seq: 3 });
});

test("what is not moderated is passed over from its first event on", async () => {
  await using world = await openWorld();
  const written = await world.createUnmoderated();
  await written.append(STARTED, delta("a secret"));
  const events = await eventsOf(world, written);
  using judged = judge(world);
  judged.judging.take(events.slice(0, 1));
  expect(judged.judging.take(events.slice(1))).toBe(0);
  expect([judged.judging.size, judged.judging.settledStreamSeq]).toEqual([0, events.at(-1)!.streamSeq]);
});

test.each([
  ["from its beginning", 0],
  ["from its middle", 2],
] as const)(
  "a log whose policy a later version wrote is not judged, told once, and holds up nothing else: taken up %s",
  async (_, from) => {
    await using world = await openWorld();
    const written = await world.create(RULES, { mode: "quarantine" as "gate" });
    await written.append(STARTED, delta("a secret"), COMPLETED);
    const told: unknown[] = [];
    const first = Promise.withResolvers<void>();
    const onError = (error: unknown) => {
      told.push(error);
      first.resolve();
    };
    using judged = judge(world, { onError });
    const events = (await eventsOf(world, written)).slice(from);
    judged.judging.take(events);
    await first.promise;
    await expect.poll(() => judged.judging.size).toBe(0);
    expect(told).toMatchObject([{ code: "policy_unsupported" }]);
    expect(judged.judging.settledStreamSeq).toBe(events.at(-1)!.streamSeq);
    expect(await world.log.verdicts.readVerdictFromLeader(written.ref)).toBeUndefined();
    expect(await world.read(written.ref)).toHaveLength(4);
  },
);

test("a log without its rules stays unjudged, and holds up nothing else", async () => {
  await using world = await openWorld();
  const written = await world.create(RULES);
  const failures: unknown[] = [];
  const failed = Promise.withResolvers<void>();
  const judging = new ShardModerator({
    connection: world.broker.main,
    log: world.log,
    shares: new WorkShares(SHARES),
    readRules: async () => undefined,
    classify: async () => ({ kind: "unjudged" }),
    tracing: NO_TRACING,
    onDecided() {},
    onError(error) {
      failures.push(error);
      failed.resolve();
    },
  });
  const events = await eventsOf(world, written);
  judging.take(events);
  await failed.promise;
  expect(failures).toMatchObject([expect.any(RepriseError)]);
  expect([judging.size, judging.settledStreamSeq]).toEqual([0, events.at(-1)!.streamSeq]);
});

test("the end waits for every classifier, though one of them has had something withdrawn after it", async () => {
  await using world = await openWorld();
  const rules: ModerationRule[] = ["fast", "slow"].map((name) => ({ classifier: name, action: "redact" }));
  const written = await world.create(rules);
  await written.append(STARTED, delta("nasty words"), COMPLETED);
  const slow = Promise.withResolvers<{ kind: "judged" }>();
  const classify: ClassifyWindow = ({ classifier }) =>
    classifier === "slow" ? slow.promise : Promise.resolve({ kind: "judged", category: "nasty" });
  using judged = judge(world, { rules, classify });
  judged.judging.take(await eventsOf(world, written));
  await world.until(written.ref, (events) => events.length === 5);
  await judged.judging.sweep(performance.now());
  const { verdict } = await world.until(written.ref, (_, stored) => stored !== undefined);
  expect(verdict).toMatchObject({ judged: 2 });
  slow.resolve({ kind: "judged" });
  await world.until(written.ref, judgedUpTo(4));
});

test("text that is revised time and again is judged once, and its classifiers are not asked again each time", async () => {
  await using world = await openWorld();
  const rules: ModerationRule[] = [...RULES, { classifier: "guard", action: "redact" }];
  const written = await world.create(rules);
  await written.append(STARTED, { type: "output.delta", text: "Nasty words. ", tokens: 200 });
  const answer = Promise.withResolvers<{ kind: "judged"; category: string }>();
  const signals: AbortSignal[] = [];
  const classify: ClassifyWindow = async (_rule, { text }, signal) => {
    if (!text.includes("Nasty")) return { kind: "judged" };
    signals.push(signal);
    return answer.promise;
  };
  using judged = judge(world, { rules, classify });
  let taken = 0;
  for (let item = 1; item <= 4; item++) {
    const { length } = await world.read(written.ref);
    await written.append(
      { type: "output.delta", text: "a sec", item },
      { type: "output.rewind", to_seq: asSeq(length - 1), reason: "revised" },
      { type: "output.delta", text: item === 3 ? "a secret " : "a word ", item, final: true },
    );
    const events = await eventsOf(world, written);
    judged.judging.take(events.slice(taken));
    taken = events.length;
    await world.until(written.ref, (log, verdict) => verdict?.judged === log.at(-1)!.seq);
  }
  expect(signals.filter(({ aborted }) => !aborted)).toHaveLength(1);
  expect(signals.length).toBeLessThanOrEqual(2);
  answer.resolve({ kind: "judged", category: "nasty" });
  const redactionsIn = (log: KnownEvent[]) => log.filter(({ type }) => type === "moderation.redacted");
  const { events } = await world.until(written.ref, (log) => redactionsIn(log).length === 2);
  expect(redactionsIn(events)).toMatchObject([{ replacement: "a *** " }, { from_seq: 2, category: "nasty" }]);
});

test("what a classifier finds in a long log that is taken up again is withdrawn from its beginning on", async () => {
  await using world = await openWorld();
  const rules: ModerationRule[] = [{ classifier: "guard", action: "redact" }];
  const written = await world.create(rules);
  await written.append(STARTED, ...Array.from({ length: 260 }, (_, at) => delta(`w${at} `)));
  const classify: ClassifyWindow = async (_rule, { text }) => {
    await new Promise(setImmediate);
    return { kind: "judged", ...(text.includes("w0 ") && { category: "nasty" }) };
  };
  using judged = judge(world, { rules, classify });
  judged.judging.take((await eventsOf(world, written)).slice(-1));
  const { events } = await world.until(written.ref, (log) => log.length === 263);
  expect(events.at(-1)).toMatchObject({ type: "moderation.redacted", from_seq: 2 });
});

test.each([
  ["in the log that is read", 5],
  ["after what was read of it", 0],
] as const)(
  "what is stored of a lost attempt counts for no text, not even of earlier attempts, once another one has its number: %s",
  async (_, from) => {
    await using world = await openWorld();
    const rules: ModerationRule[] = [{ classifier: "guard", action: "flag" }];
    const written = await world.create(rules);
    const another = { ...STARTED, attempt: 2, nonce: "00000b" };
    const window = { type: "output.delta", text: "Nasty words.", tokens: 200 } as const;
    await written.append(STARTED, window, another, delta("More."), COMPLETED);
    const lost = {
      rule: "guard",
      category: "lost",
      action: "flag",
      from_seq: asSeq(4),
      to_seq: asSeq(4),
    } as const;
    const ofLost = {
      judged: asSeq(4),
      cleared: asSeq(4),
      decided: asSeq(0),
      attempt: 2,
      nonce: "00000a",
      classified: asSeq(4),
    };
    const stored = { ...ofLost, findings: [lost, lost, lost], finding_count: 3 };
    await storeVerdict(world.log.publish, written.ref, stored, { expectedLast: STREAM_START });
    const classify: ClassifyWindow = async (_rule, { text }) => ({ kind: "judged", category: text });
    using judged = judge(world, { rules, classify });
    judged.judging.take((await eventsOf(world, written)).slice(from));
    const { verdict } = await world.until(written.ref, judgedUpTo(5));
    expect(verdict).toMatchObject({ nonce: "00000b", classified: 4, finding_count: 2 });
    expect(verdict?.findings?.map(({ category }) => category)).toEqual(["Nasty words.", "More."]);
  },
);

test.each([
  ["none", []],
  ["two, the first of which has its number", [2, 3]],
])(
  "a log that the store has rolled back is judged again at its next attempt, after the loss of: %s",
  async (_, attempts) => {
    await using world = await openWorld();
    const written = await world.create(RULES);
    const { ref, append } = written;
    await append(STARTED);
    using judged = judge(world);
    const begun = attempts.map((attempt) => ({ ...STARTED, attempt, nonce: `00000${attempt}` }));
    const lost = [...begun, delta("all "), delta("this "), delta("is lost")].map((draft, at) => {
      return { ref, payload: encodeEvent(asSeq(at + 2), draft), streamSeq: asStreamSeq(900 + at) };
    });
    judged.judging.take([...(await eventsOf(world, written)), ...lost]);
    await world.until(ref, judgedUpTo(lost.length + 1));
    const another = { ...STARTED, attempt: 2, nonce: "00000b" };
    await append(another, delta("a secret"));
    judged.judging.take((await eventsOf(world, written)).slice(2));
    const { events, verdict } = await world.until(
      ref,
      (log, stored) => log.length === 5 && stored?.nonce === another.nonce,
    );
    expect(events.at(-1)).toMatchObject({ type: "moderation.redacted", from_seq: 3 });
    expect(verdict).toMatchObject({ attempt: 2, judged: 4 });
  },
);

/** The log of a broker that takes everything but what this client does not send it. */
function refusing({ log }: World, refused: string, error: Error): GenerationLog {
  const publish: typeof log.publish = (subject, ...rest) =>
    subject.startsWith(refused) ? Promise.reject(error) : log.publish(subject, ...rest);
  return { ...log, publish };
}

test("a verdict that can't be sent is told of, and keeps no other generation from being let go of", async () => {
  await using world = await openWorld();
  const [bad, good] = [await world.create(RULES), await world.create(RULES)];
  for (const { append } of [bad, good]) await append(STARTED, delta("clean"), COMPLETED);
  const tooLarge = new Error("larger than the broker takes");
  const told: unknown[] = [];
  const log = refusing(world, verdictSubject(bad.ref), tooLarge);
  using judged = judge(world, { log, onError: (error) => told.push(error) });
  const { judging } = judged;
  for (const written of [bad, good]) judging.take(await eventsOf(world, written));
  await world.until(good.ref, judgedUpTo(3));
  const sizeLater = () => judging.sweep(performance.now() + 60_000).then(() => judging.size);
  await expect.poll(sizeLater).toBe(1);
  expect(told[0]).toBe(tooLarge);
});

test("a review that can't be listed at all is told of, and keeps nothing of its generation from being judged", async () => {
  await using world = await openWorld();
  const rules: ModerationRule[] = [{ terms: ["secret"], match: "anywhere", action: "review" }];
  const written = await world.create(rules);
  const { ref, append } = written;
  await append(STARTED, delta("a secret"));
  const tooLarge = new Error("larger than the broker takes");
  const told = Promise.withResolvers<unknown>();
  const log = refusing(world, reviewSubject(ref, "rev_3"), tooLarge);
  using judged = judge(world, { rules, log, onError: told.resolve });
  judged.judging.take(await eventsOf(world, written));
  expect(await told.promise).toBe(tooLarge);
  await append(delta(" and more"));
  judged.judging.take((await eventsOf(world, written)).slice(-1));
  await world.until(ref, judgedUpTo(4));
});

test("nothing is settled while a review that was asked for is not listed", async () => {
  await using world = await openWorld();
  const rules: ModerationRule[] = [{ terms: ["secret"], match: "anywhere", action: "review" }];
  const written = await world.create(rules);
  await written.append(STARTED, delta("a secret"), delta(" and more, which is clean"));
  const events = await eventsOf(world, written);
  let isAway = true;
  const publish: GenerationLog["publish"] = (subject, ...rest) =>
    isAway && subject.startsWith("review.")
      ? Promise.reject(new RepriseError("broker_unavailable", "The broker does not answer."))
      : world.log.publish(subject, ...rest);
  const refused = Promise.withResolvers<void>();
  using judged = judge(world, {
    rules,
    log: { ...world.log, publish },
    onError: () => refused.resolve(),
  });
  judged.judging.take(events);
  await refused.promise;
  const { events: log } = await world.until(written.ref, (_, verdict) => verdict?.judged === 4);
  expect(log.at(-1)).toMatchObject({ type: "moderation.review" });
  await judged.judging.sweep(performance.now());
  const last = (await eventsOf(world, written)).at(-1)!;
  judged.judging.take([last]);
  await judged.judging.sweep(performance.now());
  expect(judged.judging.settledStreamSeq).toBeLessThan(last.streamSeq);
  isAway = false;
  await expect.poll(() => judged.judging.settledStreamSeq).toBe(last.streamSeq);
});

const BETA = parseTenantId("beta");

/** Judges nothing of a tenant that has used up its share before `refill` is called. */
function spentShares(tenant: string) {
  const refilled = Promise.withResolvers<void>();
  let nowMs = 0;
  const shares = new WorkShares({ ...SHARES, now: () => nowMs, wait: () => refilled.promise });
  shares.spend(tenant, 2e9);
  const refill = () => {
    nowMs += 60_000;
    refilled.resolve();
  };
  return { shares, refill };
}

test("a tenant that has used up its share waits, and another one's verdicts come", async () => {
  await using world = await openWorld();
  const spending = await world.create(RULES);
  const other = await world.create(RULES, {}, BETA);
  for (const written of [spending, other]) await written.append(STARTED, delta("a secret"), COMPLETED);
  const { shares, refill } = spentShares("acme");
  using judged = judge(world, { shares });
  judged.judging.take([...(await eventsOf(world, spending)), ...(await eventsOf(world, other))]);
  const { events } = await world.until(other.ref, judgedUpTo(4));
  expect(events.at(-1)).toMatchObject({ type: "moderation.redacted" });
  expect((await world.read(spending.ref)).at(-1)).toMatchObject({ type: "generation.completed" });
  refill();
  await world.until(spending.ref, judgedUpTo(4));
});

test("events that wait for a share hold back what is acknowledged for a limited number of events of the shard", async () => {
  await using world = await openWorld();
  const spending = await world.create(RULES);
  await spending.append(STARTED, delta("a secret"));
  const unmoderated = await world.createUnmoderated();
  const [first] = await eventsOf(world, unmoderated);
  const { shares } = spentShares("acme");
  using judged = judge(world, { shares });
  const events = await eventsOf(world, spending);
  judged.judging.take(events);
  const far = (by: number) => asStreamSeq(events[0]!.streamSeq + by);
  judged.judging.take([{ ...first!, streamSeq: far(9_999) }]);
  expect(judged.judging.settledStreamSeq).toBe(events[0]!.streamSeq - 1);
  judged.judging.take([{ ...first!, streamSeq: far(10_000) }]);
  expect(judged.judging.settledStreamSeq).toBe(far(10_000));
});

test("what waits for a share beyond a quarter of a megabyte is read from the log, a few events at a time", async () => {
  await using world = await openWorld();
  const written = await world.create(RULES);
  await written.append(STARTED, ...Array.from({ length: 40 }, () => delta("clean ".repeat(5_000))));
  await written.append(delta("a secret"));
  const { leader } = world.log;
  const readTail = vi.fn<typeof leader.readTail>((...args) => leader.readTail(...args));
  const { shares, refill } = spentShares("acme");
  using judged = judge(world, { shares, log: { ...world.log, leader: { ...leader, readTail } } });
  judged.judging.take(await eventsOf(world, written));
  refill();
  const { events } = await world.until(written.ref, (log) => log.length === 44);
  expect(events.at(-1)).toMatchObject({ type: "moderation.redacted", from_seq: 42 });
  expect(readTail.mock.calls.length).toBeGreaterThan(1);
  const read = await Promise.all(readTail.mock.results.map(({ value }) => value));
  expect(Math.max(...read.map(({ length }) => length))).toBeLessThanOrEqual(16);
});

test("of a tenant whose share is spent, a few logs at most are read before they are judged", async () => {
  await using world = await openWorld();
  const spending = await Promise.all(Array.from({ length: 20 }, () => world.create(RULES)));
  const other = await world.create(RULES, {}, BETA);
  for (const written of [...spending, other]) await written.append(STARTED, delta("a secret"));
  const last = await Promise.all(
    [...spending, other].map(async (written) => (await eventsOf(world, written)).at(-1)!),
  );
  const { reader } = world.log;
  const readLog = vi.fn<typeof reader.readLog>((...args) => reader.readLog(...args));
  const { shares, refill } = spentShares("acme");
  using judged = judge(world, { shares, log: { ...world.log, reader: { ...reader, readLog } } });
  judged.judging.take(last);
  await world.until(other.ref, judgedUpTo(3));
  expect(readLog.mock.calls.filter(([{ tenant }]) => tenant !== BETA)).toHaveLength(16);
  refill();
  for (const { ref } of spending) await world.until(ref, judgedUpTo(3));
});

test("a long text is judged in slices between which others have their turn, and events that wait too long are read again", async () => {
  await using world = await openWorld();
  const written = await world.create(RULES);
  const text = "a secret and more ".repeat(200);
  await written.append(STARTED, delta(text), ...Array.from({ length: 1_100 }, () => delta(".")));
  const shares = new WorkShares({ ...SHARES, slice: 1_000 });
  const turns = vi.spyOn(shares, "turn");
  using judged = judge(world, { shares });
  judged.judging.take(await eventsOf(world, written));
  const { verdict } = await world.until(written.ref, (_, one) => (one?.judged ?? 0) > 1_102);
  expect(turns.mock.calls.length).toBeGreaterThan(5);
  expect(verdict?.finding_count).toBe(200);
});

test("hostile rules are judged in slices of a bounded number of steps", async () => {
  await using world = await openWorld();
  const rules = Array.from({ length: 14 }, (_, at) => ({ pattern: `(?s).*[aeiou]{9}${at}` }));
  const written = await world.create(rules);
  await written.append(STARTED, delta("prose of aeiouaeiou vowels ".repeat(40)), COMPLETED);
  const shares = new WorkShares({ ...SHARES, slice: 10_000 });
  const spent = vi.spyOn(shares, "spend");
  using judged = judge(world, { shares, rules });
  judged.judging.take(await eventsOf(world, written));
  await world.until(written.ref, judgedUpTo(3));
  const steps = spent.mock.calls.map(([, one]) => one);
  expect(Math.max(...steps)).toBeLessThan(2_000_000);
  expect(steps.length).toBeGreaterThan(100);
});
