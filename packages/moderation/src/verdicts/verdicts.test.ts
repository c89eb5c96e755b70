import { type Verdict, asSeq, asStreamSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import { newRef, openWorld } from "@reprise/stream/testing";
import { publishLiveVerdict, storeVerdict, subscribeVerdicts } from "./verdicts.ts";

const verdict = (judged: number): Verdict => ({
  judged: asSeq(judged),
  cleared: asSeq(judged),
  decided: asSeq(0),
});

test("stores a verdict unless another one was stored first; it is read at any replica and at the leader", async () => {
  await using world = await openWorld();
  const { publish, verdicts } = world.log;
  const ref = newRef();
  expect(await verdicts.readVerdict(ref)).toBeUndefined();
  expect(await verdicts.readVerdictFromLeader(ref)).toBeUndefined();
  expect(await storeVerdict(publish, ref, verdict(1), { expectedLast: asStreamSeq(0) })).toMatchObject({
    kind: "stored",
  });
  expect(await storeVerdict(publish, ref, verdict(2), { expectedLast: asStreamSeq(0) })).toEqual({
    kind: "conflict",
  });
  const stored = { verdict: verdict(1), streamSeq: 1 };
  expect([await verdicts.readVerdict(ref), await verdicts.readVerdictFromLeader(ref)]).toEqual([
    stored,
    stored,
  ]);
});

test("verdicts reach their generation's subscribers, stored or not", async () => {
  await using world = await openWorld();
  const { log, broker, errors } = world;
  const [ref, other] = [newRef(), newRef()];
  const heard: Verdict[] = [];
  subscribeVerdicts(broker.main, ref, {
    onVerdict: (said) => heard.push(said),
    onError: (error) => errors.push(error),
  });
  publishLiveVerdict(broker.main, other, verdict(9));
  publishLiveVerdict(broker.main, ref, verdict(1));
  await storeVerdict(log.publish, ref, verdict(2), { expectedLast: asStreamSeq(0) });
  await eventually(() => expect(heard).toEqual([verdict(1), verdict(2)]));
  expect(errors).toEqual([]);
});
