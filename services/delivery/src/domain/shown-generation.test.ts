import { asSeq } from "@reprise/protocol";
import { Hub } from "@reprise/stream";
import { expect, test } from "vitest";
import { nativeSseFraming } from "../readers/streams/native-sse-framing.ts";
import { decide, judge, moderatedBody } from "../testing/moderation.ts";
import {
  append,
  createGeneration,
  delta,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";
import { cancelGeneration, readGeneration } from "./read-generation.ts";

function openHub({ log, broker }: Platform): Hub & Disposable {
  const onError = (error: unknown) => expect.unreachable(String(error));
  const options = {
    connection: broker.main,
    ...log,
    framing: nativeSseFraming,
    maxBytes: 1_000_000,
    onError,
  };
  const hub = new Hub(options);
  return Object.assign(hub, { [Symbol.dispose]: () => hub.close() });
}

test("a cancel is answered with the end, and at once, though a person has to let readers have it", async () => {
  await using platform = await openPlatform();
  const { ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  await append(worker, started(), delta("a "), delta("doubt"));
  const expires = "2026-11-22T10:00:00.000Z";
  const range = { from_seq: asSeq(3), to_seq: asSeq(3), rule: "terms", category: "terms" };
  await decide(platform, ref, {
    type: "moderation.review",
    review_id: "rev_4",
    ...range,
    expires_at: expires,
  });
  await judge(platform, ref, 4, { cleared: asSeq(2) });
  using hub = openHub(platform);
  const cancelled = await cancelGeneration({ log: platform.log, hub, shownMs: 600_000 }, ref, "asked");
  const shown = {
    text: "a ",
    cursor: "1-2",
    reviews: [{ id: `${ref.generation}.rev_4`, expires_at: expires }],
  };
  expect(cancelled).toMatchObject({ ...shown, status: "cancelled", settled: false });
  await judge(platform, ref, 5, { cleared: asSeq(2) });
  const read = () => readGeneration({ log: platform.log, hub }, ref);
  expect(await read()).toMatchObject({ ...shown, status: "cancelled", settled: false });

  const reviewed = { type: "moderation.reviewed", decision: "approve", reviewer: "ann" } as const;
  await decide(platform, ref, { ...reviewed, review_id: "rev_4" });
  expect(await read()).toMatchObject({ cursor: "1-2", reviews: [], settled: false });
  await judge(platform, ref, 6);
  await expect
    .poll(read)
    .toMatchObject({ status: "cancelled", text: "a doubt", cursor: "1-6", reviews: [], settled: true });
});

test("a cancel is answered once moderation lets readers have the end", async () => {
  await using platform = await openPlatform();
  const { log } = platform;
  const { ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  await append(worker, started(), delta("a"));
  await judge(platform, ref, 2);
  using hub = openHub(platform);
  const cancelled = cancelGeneration({ log, hub, shownMs: 60_000 }, ref, "asked");
  await expect.poll(async () => (await log.reader.readLog(ref)).events).toHaveLength(4);
  await judge(platform, ref, 3);
  expect(await cancelled).toMatchObject({ status: "cancelled", text: "a", cursor: "1-3" });
});
