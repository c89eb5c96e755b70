import fc from "fast-check";
import { expect, test } from "vitest";
import { PullCredit } from "./pull-credit.ts";

const EXPIRES_MS = 30_000;

test("a pull request asks for every free slot once", () => {
  const credit = new PullCredit(5);
  expect(credit.request(0, EXPIRES_MS)?.batch).toBe(5);
  expect(credit.request(1, EXPIRES_MS)).toBeUndefined();
});

test("a slot is asked for again when its job has ended, not when it came", () => {
  const credit = new PullCredit(2);
  credit.request(0, EXPIRES_MS);
  expect(credit.take()).toBe(true);
  expect(credit.request(1, EXPIRES_MS)).toBeUndefined();
  credit.release();
  expect(credit.request(2, EXPIRES_MS)?.batch).toBe(1);
});

test("what the broker reports as unused is asked for again", () => {
  const credit = new PullCredit(4);
  credit.request(0, EXPIRES_MS);
  credit.take();
  credit.unused(3);
  expect(credit.request(1, EXPIRES_MS)?.batch).toBe(3);
});

test("a request that the broker never answers is given up after its time", () => {
  const credit = new PullCredit(4);
  credit.request(0, EXPIRES_MS);
  credit.expire(EXPIRES_MS);
  expect(credit.request(EXPIRES_MS, EXPIRES_MS)).toBeUndefined();
  credit.expire(EXPIRES_MS + 501);
  expect(credit.request(EXPIRES_MS + 501, EXPIRES_MS)?.batch).toBe(4);
});

test("a job that comes when every slot is taken is refused", () => {
  const credit = new PullCredit(1);
  credit.request(0, EXPIRES_MS);
  expect([credit.take(), credit.take()]).toEqual([true, false]);
});

test("jobs requested and jobs taken never exceed the slots together", () => {
  const anyStep = fc.constantFrom("request", "take", "release", "unused", "expire");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(anyStep, { maxLength: 200 }), (slots, steps) => {
      const credit = new PullCredit(slots);
      let asked = 0;
      let taken = 0;
      const act: Record<string, (now: number) => void> = {
        request: (now) => (asked += credit.request(now, 1_000_000)?.batch ?? 0),
        take: () => asked > 0 && credit.take() && (asked--, taken++),
        release: () => taken > 0 && (credit.release(), taken--),
        unused: () => asked > 0 && (credit.unused(1), asked--),
        expire: (now) => credit.expire(now),
      };
      steps.forEach((step, now) => {
        act[step]!(now);
        expect(asked + taken).toBeLessThanOrEqual(slots);
      });
    }),
  );
});

const MIB = 1_024 * 1_024;

test("all that is asked for fits what may be under way, however large each job is", () => {
  const credit = new PullCredit(256);
  const asked = [];
  for (let now = 0; now < 10; now++) {
    asked.push(credit.request(now, EXPIRES_MS));
    // Slots become free, and their jobs have not come yet.
    credit.unused(1);
  }
  const bytes = asked.map((share) => share?.maxBytes ?? 0);
  expect(bytes.slice(0, 3)).toEqual([8 * MIB, 4 * MIB, 2 * MIB]);
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(16 * MIB);
  // What has come is not under way any more.
  for (let i = 0; i < 8; i++) credit.take(MIB);
  expect(credit.request(10, EXPIRES_MS)?.maxBytes).toBeGreaterThanOrEqual(4 * MIB);
});

test("nothing is asked for while there is no room for a job of any size", () => {
  const credit = new PullCredit(256);
  expect(credit.request(0, EXPIRES_MS, MIB)).toBeUndefined();
  expect(credit.request(1, EXPIRES_MS, 3 * MIB)).toMatchObject({ batch: 256 });
});
