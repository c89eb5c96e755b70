import { type EventDraft, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { lagging } from "../testing/lagging.ts";
import { append, createGeneration, delta, openPlatform, started } from "../testing/platform.ts";
import { decideReview } from "./decide-review.ts";

const review: EventDraft = {
  type: "moderation.review",
  review_id: "rev_3",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  rule: "r",
  category: "c",
  expires_at: "2026-11-21T13:00:00.000Z",
};

test("a review that only the log's leader knows yet can be decided, and what it does not know is none", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), delta("Hm."), review);
  const log = lagging(platform.log, 1);
  const approve = { ref, answer: { decision: "approve" }, reviewer: "ann" } as const;
  expect(await decideReview(log, { ...approve, reviewId: "rev_3" })).toMatchObject({ reviewer: "ann" });
  await expect(decideReview(log, { ...approve, reviewId: "rev_4" })).rejects.toMatchObject({
    code: "review_not_found",
  });
});

test("a decision that a lagging replica does not know of counts all the same", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), delta("Hm."), review);
  const to = { ref, reviewId: "rev_3" };
  await decideReview(platform.log, { ...to, answer: { decision: "halt" }, reviewer: "ann" });
  const late = { ...to, answer: { decision: "approve" }, reviewer: "bob" } as const;
  await expect(decideReview(lagging(platform.log, 1), late)).rejects.toMatchObject({
    code: "review_conflict",
  });
  expect((await platform.log.reader.readLog(ref)).events).toHaveLength(5);
});
