import { asSeq } from "@reprise/protocol";
import { readPolicy, type GenerationCache } from "@reprise/stream";
import { expect, test } from "vitest";
import { moderatedBody } from "../testing/moderation.ts";
import { append, createGeneration, delta, openPlatform, started } from "../testing/platform.ts";
import { recordUnjudged } from "./record-unjudged.ts";

test("records a moderation timeout once for each place, when many nodes notice it", async () => {
  await using platform = await openPlatform();
  const { log } = platform;
  const { ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  await append(worker, started(), delta("a"));
  const policy = readPolicy((await log.reader.readLog(ref)).events[0]!);
  const tailAt = (judged: number) =>
    ({ ref, policy, shown: { visibility: { judged } } }) as unknown as GenerationCache;
  const first = await Promise.all(
    [1, 1, 1].map((judged) => recordUnjudged(log, tailAt(judged), asSeq(judged))),
  );
  expect(first.filter((answer) => answer !== undefined)).toEqual(["fail_closed"]);
  expect(await recordUnjudged(log, tailAt(0), asSeq(0))).toBeUndefined();
  expect(await recordUnjudged(log, tailAt(2), asSeq(2))).toBe("fail_closed");
  expect((await log.reader.readLog(ref)).events).toHaveLength(5);
});

test("records no moderation timeout when a verdict comes while it is being recorded", async () => {
  await using platform = await openPlatform();
  const { log } = platform;
  const { ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  await append(worker, started(), delta("a"));
  const policy = readPolicy((await log.reader.readLog(ref)).events[0]!);
  let asked = 0;
  const visibility = {
    get judged() {
      return asked++;
    },
  };
  const cache = { ref, policy, shown: { visibility } } as unknown as GenerationCache;
  expect(await recordUnjudged(log, cache, asSeq(0))).toBeUndefined();
  expect(await recordUnjudged(log, cache, asSeq(1))).toBeUndefined();
  expect(asked).toBeGreaterThan(2);
  expect((await log.reader.readLog(ref)).events).toHaveLength(3);
});
