import { announceLateEvent, subscribeLateEvents, compileRuleSet } from "@reprise/moderation";
import { type EffectiveModeration, logSubject, Transcript } from "@reprise/protocol";
import { expect, test } from "vitest";
import { COMPLETED, delta, STARTED } from "../testing/log-of.ts";
import { openWorld } from "../testing/world.ts";
import { rejudgeLog } from "./rejudge-log.ts";

test.each(["gate", undefined] satisfies (EffectiveModeration["mode"] | undefined)[])(
  "what new rules find in a log of mode %s is withdrawn, and every node is told of it",
  async (mode) => {
    await using world = await openWorld();
    const written = mode
      ? await world.create([{ terms: ["other"] }], { mode })
      : await world.createUnmoderated();
    await written.append(STARTED, delta("a se"), delta("cret and more"), COMPLETED);
    const told = Promise.withResolvers<unknown>();
    subscribeLateEvents(world.broker.reads, {
      onLate: (ref, seq) => told.resolve([ref, seq]),
      onError: told.reject,
    });
    await world.broker.reads.flush();
    const ruleSet = compileRuleSet("x".repeat(26), [{ terms: ["secret"] }]);
    const { findingCount, decisions } = await rejudgeLog(world.log, written.ref, {
      ruleSet,
      apply: (ref, seq) => announceLateEvent(world.broker.main, ref, seq),
    });
    expect([findingCount, decisions.length]).toEqual([1, 1]);
    const events = await world.read(written.ref);
    const transcript = new Transcript();
    for (const event of events) transcript.apply(event);
    expect(transcript.text).toBe(`a ${mode ? "***" : "[redacted]"} and more`);
    expect(await told.promise).toEqual([written.ref, events.at(-1)!.seq]);
  },
);

test("what one try has withdrawn is told though another one appends what was left to do", async () => {
  await using world = await openWorld();
  const { ref, append } = await world.create([{ terms: ["other"] }], { mode: "retract" });
  await append(STARTED, delta("a secret "), delta("and clean "), delta("and a secret"), COMPLETED);
  const ruleSet = compileRuleSet("x".repeat(26), [{ terms: ["secret"] }]);
  const told: number[] = [];
  let published = 0;
  const publish: typeof world.log.publish = async (subject, payload, options) => {
    // The answer to the second decision is lost, so the next try finds nothing left to decide.
    const outcome = await world.log.publish(subject, payload, options);
    return subject === logSubject(ref) && ++published === 2
      ? { kind: "conflict", lastStreamSeq: undefined }
      : outcome;
  };
  await rejudgeLog({ ...world.log, publish }, ref, { ruleSet, apply: (_, seq) => told.push(seq) });
  const events = await world.read(ref);
  expect(events.filter(({ type }) => type === "moderation.redacted")).toHaveLength(2);
  expect(told).toEqual([events.at(-1)!.seq]);
});

test("a log whose policy a later version wrote is not judged by a guess", async () => {
  await using world = await openWorld();
  const { ref, append } = await world.create([{ terms: ["other"] }], { mode: "quarantine" as "gate" });
  await append(STARTED, delta("a secret"), COMPLETED);
  const ruleSet = compileRuleSet("x".repeat(26), [{ terms: ["secret"] }]);
  await expect(rejudgeLog(world.log, ref, { ruleSet, apply: () => {} })).rejects.toMatchObject({
    code: "policy_unsupported",
  });
  expect(await world.read(ref)).toHaveLength(4);
});
