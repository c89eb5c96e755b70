import {
  type ModerationRule,
  parseTenantId,
  ruleSetId,
  ruleSetSubject,
  asStreamSeq,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import type { Publish, PublishOutcome } from "@reprise/broker";
import { createRuleSetStore, firstRuleSetAt, readRuleSet } from "./rule-sets.ts";
import { openWorld } from "@reprise/stream/testing";
import { watchRuleSets } from "./watch-rule-sets.ts";

const TENANT = parseTenantId("acme");
const HOUR_MS = 3_600_000;
const RULES: ModerationRule[] = [
  { set: "cards", action: "redact" },
  { name: "names", terms: ["Iris", "Söderberg"], action: "flag" },
];
const STORED: PublishOutcome = { kind: "stored", streamSeq: asStreamSeq(1), duplicate: false };

/** A store whose n-th publish ends as `outcomeOf(n)` says. */
function createStore(outcomeOf: (call: number) => PublishOutcome | Error = () => STORED) {
  let calls = 0;
  const publish = vi.fn<Publish>(async () => {
    const outcome = outcomeOf(calls++);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  });
  return { publish, store: createRuleSetStore(publish, HOUR_MS) };
}

test("rules are stored under a name that follows from their content, and read as they were given", async () => {
  await using world = await openWorld();
  const { publish } = world.log;
  const { main } = world.broker;
  const id = await createRuleSetStore(publish, HOUR_MS).keep(TENANT, RULES);
  expect(id).toBe(await ruleSetId(RULES));
  expect(await readRuleSet(main, TENANT, id)).toEqual(RULES);
  expect(await readRuleSet(main, parseTenantId("other"), id)).toBeUndefined();
  expect(await readRuleSet(main, TENANT, await ruleSetId([]))).toBeUndefined();
});

test("rules that this version does not understand are none", async () => {
  await using world = await openWorld();
  const id = await ruleSetId(RULES);
  await world.log.publish(ruleSetSubject(TENANT, id), Buffer.from('[{"set":"from the future"}]'), {});
  expect(await readRuleSet(world.broker.main, TENANT, id)).toBeUndefined();
});

test("rules are stored once, however many ask at the same time or later", async () => {
  const { publish, store } = createStore();
  const ids = await Promise.all([store.keep(TENANT, RULES), store.keep(TENANT, RULES)]);
  ids.push(await store.keep(TENANT, RULES));
  expect(new Set(ids)).toEqual(new Set([await ruleSetId(RULES)]));
  expect(publish).toHaveBeenCalledTimes(1);
  await store.keep(parseTenantId("other"), RULES);
  expect(publish).toHaveBeenCalledTimes(2);
});

test("rules are stored again before logs that name them could outlive them", async () => {
  const { publish, store } = createStore();
  vi.useFakeTimers({ toFake: ["Date"] });
  using owned = new DisposableStack();
  owned.defer(() => void vi.useRealTimers());
  await store.keep(TENANT, RULES);
  vi.advanceTimersByTime(HOUR_MS);
  await store.keep(TENANT, RULES);
  expect(publish).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  await store.keep(TENANT, RULES);
  expect(publish).toHaveBeenCalledTimes(2);
});

const TOO_LARGE = new Error("larger than the broker takes now");

test.each<[string, PublishOutcome | Error, object]>([
  ["in time", { kind: "unavailable", reason: "timeout" }, { code: "broker_unavailable", retryable: true }],
  ["at all", TOO_LARGE, TOO_LARGE],
])(
  "rules that could not be stored %s are not believed to be, and are stored when they are needed next",
  async (_, outcome, error) => {
    const { publish, store } = createStore((call) => (call === 0 ? outcome : STORED));
    await expect(store.keep(TENANT, RULES)).rejects.toMatchObject(error);
    expect(await store.keep(TENANT, RULES)).toBe(await ruleSetId(RULES));
    expect(publish).toHaveBeenCalledTimes(2);
  },
);

test("the watch for the first rules reports them once they are stored, once, with a time that is not later", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  expect(await firstRuleSetAt(main)).toBeUndefined();
  const told: Date[] = [];
  const watch = watchRuleSets(main, (startTime) => told.push(startTime));
  const store = createRuleSetStore(world.log.publish, HOUR_MS);
  await store.keep(TENANT, RULES);
  await eventually(() => expect(told).toEqual([expect.any(Date)]));
  expect(told).toEqual([await firstRuleSetAt(main)]);
  await store.keep(TENANT, [RULES[0]!]);
  const late = Promise.withResolvers<Date>();
  watchRuleSets(main, late.resolve);
  expect([await late.promise]).toEqual(told);
  watch.stop();
});
