import { asSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { dueForProbe, ProbeSchedule } from "./probe-schedule.ts";

/** Number of probes of a generation while its events come with these gaps, with a check every 500 ms. */
function probesDuring(gapsMs: readonly number[]): number {
  const pace = new ProbeSchedule(1_500, asSeq(0), 0);
  let now = 0;
  let probes = 0;
  gapsMs.forEach((gap, i) => {
    const next = now + gap;
    for (; now < next; now += 500) {
      if (pace.dueAt > now) continue;
      pace.probed(now);
      probes++;
    }
    now = next;
    pace.observe(asSeq(i + 1), now);
  });
  return probes;
}

describe("the pace of probes", () => {
  test("a slow generation is not probed between its events, once its pace is known", () => {
    const [first, hundred] = [probesDuring([4_000]), probesDuring(Array(100).fill(4_000))];
    expect(first).toBeGreaterThan(0);
    expect(hundred).toBe(first);
  });

  test("a fast generation that falls silent is probed after the least wait", () => {
    const pace = new ProbeSchedule(1_500, asSeq(0), 0);
    for (let i = 1; i <= 50; i++) pace.observe(asSeq(i), i * 20);
    expect(pace.dueAt).toBe(50 * 20 + 1_500);
  });

  test("a probe waits 10 s at most, however slow the generation is and however often it was asked about", () => {
    const pace = new ProbeSchedule(1_500, asSeq(0), 0);
    pace.observe(asSeq(1), 60_000);
    expect(pace.dueAt).toBe(70_000);
    pace.probed(70_000);
    expect(pace.dueAt).toBe(80_000);
  });

  test("each probe without news doubles the wait, and an event begins again", () => {
    const pace = new ProbeSchedule(1_500, asSeq(0), 0);
    const waits = Array.from({ length: 5 }, () => {
      const now = pace.dueAt;
      pace.probed(now);
      return pace.dueAt - now;
    });
    expect(waits).toEqual([3_000, 6_000, 10_000, 10_000, 10_000]);
    const fast = new ProbeSchedule(1_500, asSeq(0), 0);
    fast.observe(asSeq(1), 10);
    fast.probed(15);
    fast.observe(asSeq(2), 20);
    expect(fast.dueAt).toBe(1_520);
  });

  test("reading the log without finding anything new is no event", () => {
    const pace = new ProbeSchedule(1_500, asSeq(7), 0);
    pace.observe(asSeq(7), 1_000);
    expect(pace.dueAt).toBe(1_500);
  });
});

describe("the budget of probes", () => {
  const silent = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ pace: { dueAt: (i * 7_919) % count } }));

  test("a node asks 200 times a second at most, first about what is due for the longest", () => {
    const due = dueForProbe(silent(10_000), 20_000, 500);
    expect(due.map(({ pace }) => pace.dueAt)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  test("what is not due is not asked about", () => {
    expect(dueForProbe(silent(50), 9, 500)).toHaveLength(10);
  });

  test("every generation has a turn in the end", () => {
    const generations = Array.from({ length: 1_000 }, () => ({
      pace: new ProbeSchedule(1_500, asSeq(0), 0),
    }));
    const asked = new Set<object>();
    for (let now = 0; now <= 8_000; now += 500) {
      for (const generation of dueForProbe(generations, now, 500)) {
        asked.add(generation);
        generation.pace.probed(now);
      }
    }
    expect(asked.size).toBe(1_000);
  });
});
