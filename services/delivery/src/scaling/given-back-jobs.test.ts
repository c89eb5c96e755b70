import { expect, test } from "vitest";
import { GivenBackJobs } from "./given-back-jobs.ts";

test("a job that no worker has counts from the second reading on that shows it, for each model by itself", () => {
  const jobs = new GivenBackJobs();
  const read = (held: number, heldByWorkers: number) => jobs.read("m", held, heldByWorkers);
  expect([read(3, 2), read(4, 2), read(3, 2), read(2, 2), read(5, 2)]).toEqual([0, 1, 1, 0, 0]);
  expect(jobs.read("other", 9, 0)).toBe(0);
  expect(read(5, 2)).toBe(3);
});

test("workers that say more than the broker does are a moment ahead of it", () => {
  const jobs = new GivenBackJobs();
  expect([jobs.read("m", 1, 4), jobs.read("m", 1, 4)]).toEqual([0, 0]);
});
