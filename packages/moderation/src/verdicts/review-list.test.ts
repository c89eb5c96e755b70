import { reviewIdOf, reviewSubject, asSeq, plusMs, toUnixMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import { decodeReviewRecord, type ListedReview, reviewList, type ReviewRecord } from "./review-list.ts";
import { newRef, openWorld, type World } from "@reprise/stream/testing";

const NOW_MS = toUnixMs("2026-11-21T12:00:00.000Z");

const record = (afterNowMs = 3_600_000): ReviewRecord => ({
  rule: "weapons",
  category: "violence",
  from_seq: asSeq(3),
  to_seq: asSeq(5),
  channel: "0",
  created_at: new Date(NOW_MS).toISOString(),
  expires_at: new Date(NOW_MS + afterNowMs).toISOString(),
});

const namesOf = (reviews: readonly ListedReview[]) =>
  reviews.map(({ ref, reviewId }) => `${ref.generation}.${reviewId}`);

async function list({ log }: World, count: number, { tenant = "acme", afterNowMs = 3_600_000 } = {}) {
  const names: string[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const ref = newRef(tenant);
    expect(await reviewList.add(log.publish, ref, reviewIdOf(asSeq(seq)), record(afterNowMs))).toBe(true);
    names.push(`${ref.generation}.${reviewIdOf(asSeq(seq))}`);
  }
  return names;
}

test("lists a tenant's reviews in the order in which they came, page by page, without other tenants' reviews", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const { tenant } = newRef();
  expect(await reviewList.read(main, tenant)).toEqual({ reviews: [], streamSeq: 0, more: false });
  const first = await list(world, 3);
  await list(world, 2, { tenant: "beta" });
  const second = await list(world, 2);
  const begin = await reviewList.read(main, tenant, { limit: 2 });
  expect([namesOf(begin.reviews), begin.more]).toEqual([first.slice(0, 2), true]);
  expect(begin.reviews[0]!.record).toEqual(record());
  const rest = await reviewList.read(main, tenant, { after: begin.streamSeq });
  expect([namesOf(rest.reviews), rest.more]).toEqual([[first[2], ...second], false]);
  expect((await reviewList.read(main, tenant, { after: rest.streamSeq })).reviews).toEqual([]);
});

test("a review that is listed again stays at its place, as it was", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const ref = newRef();
  await reviewList.add(world.log.publish, ref, "rev_7", record());
  const before = await reviewList.read(main, ref.tenant);
  await list(world, 1);
  expect(await reviewList.add(world.log.publish, ref, "rev_7", record(1))).toBe(true);
  expect((await reviewList.read(main, ref.tenant)).reviews[0]).toEqual(before.reviews[0]);
});

test("a review that is removed is gone, alone of its generation's, can be removed twice and listed again", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const ref = newRef();
  for (const id of ["rev_1", "rev_11"]) await reviewList.add(world.log.publish, ref, id, record());
  await Promise.all([reviewList.remove(main, ref, "rev_1"), reviewList.remove(main, ref, "rev_1")]);
  await reviewList.remove(main, ref, "rev_2");
  expect(namesOf((await reviewList.read(main, ref.tenant)).reviews)).toEqual([`${ref.generation}.rev_11`]);
  await reviewList.add(world.log.publish, ref, "rev_1", record());
  expect((await reviewList.read(main, ref.tenant)).reviews).toHaveLength(2);
});

test("those whose time is up are found over all tenants, after many that have time left, up to a limit", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  await list(world, 140);
  const acme = await list(world, 2, { afterNowMs: 0 });
  const beta = await list(world, 2, { tenant: "beta", afterNowMs: -5_000 });
  const nowMs = NOW_MS;
  expect(namesOf(await reviewList.readExpired(main, { nowMs }))).toEqual([...acme, ...beta]);
  expect(namesOf(await reviewList.readExpired(main, { nowMs, most: 1 }))).toEqual(acme.slice(0, 1));
  expect(await reviewList.readExpired(main, { nowMs: plusMs(nowMs, -5_001) })).toEqual([]);
});

test("what is no record, or no review's subject, is passed over", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await world.log.publish(reviewSubject(ref, "rev_1"), Buffer.from("{}"), {});
  await world.log.publish("review.acme.x", Buffer.from(JSON.stringify(record())), {});
  expect(await reviewList.read(world.broker.main, ref.tenant)).toEqual({
    reviews: [],
    streamSeq: 2,
    more: false,
  });
});

test.each([
  "",
  "null",
  "[]",
  JSON.stringify({ ...record(), rule: 1 }),
  JSON.stringify({ ...record(), to_seq: -1 }),
  JSON.stringify({ ...record(), expires_at: "soon" }),
  JSON.stringify({ ...record(), channel: undefined }),
])("%j is no record", (text) => expect(decodeReviewRecord(Buffer.from(text))).toBeUndefined());

test("listing reviews without a broker fails with broker_unavailable", async () => {
  await using world = await openWorld();
  await world.server.stop();
  const ref = newRef();
  const unavailable = { code: "broker_unavailable" };
  await Promise.all([
    expect(reviewList.read(world.broker.main, ref.tenant)).rejects.toMatchObject(unavailable),
    expect(reviewList.readExpired(world.broker.main, { nowMs: NOW_MS })).rejects.toMatchObject(unavailable),
    expect(reviewList.remove(world.broker.main, ref, "rev_1")).rejects.toMatchObject(unavailable),
    expect(reviewList.add(world.log.publish, ref, "rev_1", record())).resolves.toBe(false),
  ]);
});
