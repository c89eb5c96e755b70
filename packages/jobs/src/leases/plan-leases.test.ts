import { leaseSubject, memberSubject, asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type LeaseRecord, planLeases } from "./plan-leases.ts";

const SECOND = 1_000_000;
const NOW = 100 * SECOND;
const NAMES = ["a", "b", "c", "d"];
const group = "g";

let streamSeq = 0;
const member = (holder: string, ageS = 0): LeaseRecord => ({
  subject: memberSubject(group, holder),
  holder,
  streamSeq: asStreamSeq(++streamSeq),
  storedAtUs: NOW - ageS * SECOND,
});
const lease = (name: string, holder: string, ageS = 0): LeaseRecord => ({
  ...member(holder, ageS),
  subject: leaseSubject(group, name),
});

function stepsOf(words: LeaseRecord[], held: string[] = []) {
  const steps = planLeases({ words, names: NAMES, holder: "me", held: new Set(held), group });
  const names = (key: keyof typeof steps) => steps[key].map(({ name }) => name);
  return { renew: names("renew"), release: names("release"), gain: names("gain"), lost: names("lost") };
}

const NOTHING = { renew: [], release: [], gain: [], lost: [] };

test("a single process takes everything", () => {
  expect(stepsOf([member("me")])).toEqual({ ...NOTHING, gain: NAMES });
});

test("of two that begin together each takes its share", () => {
  expect(stepsOf([member("me"), member("other")])).toEqual({ ...NOTHING, gain: ["a", "b"] });
});

test("what a live holder has is left to it, and what a silent one had is taken", () => {
  const words = [
    member("me"),
    member("gone", 9),
    lease("a", "gone", 9),
    lease("b", "other"),
    member("other"),
  ];
  expect(stepsOf(words)).toEqual({ ...NOTHING, gain: ["a", "c"] });
});

test("releases what is more than its share when another process joins", () => {
  const words = [member("me"), member("new"), ...NAMES.map((name) => lease(name, "me"))];
  expect(stepsOf(words, NAMES)).toEqual({ ...NOTHING, renew: ["a", "b"], release: ["c", "d"] });
});

test("a process that was silent for too long loses what others have taken, and keeps the rest", () => {
  const words = [member("me"), member("other"), lease("a", "other"), lease("b", "me", 20)];
  expect(stepsOf(words, ["a", "b"])).toMatchObject({ lost: ["a"], renew: ["b"] });
});
