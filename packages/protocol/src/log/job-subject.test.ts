import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyModelName, anyRef } from "../arbitraries.fixture.ts";
import {
  generationJobs,
  jobLane,
  jobSubject,
  laneKey,
  type LaneName,
  laneOf,
  modelJobs,
  parseJobSubject,
  queuedJobs,
  queuedSubject,
  wholeQueueConsumer,
} from "./job-subject.ts";
import type { GenerationRef } from "../id.ts";
import { PRIORITIES } from "../request/fields/priority.ts";

const anyPriority = fc.constantFrom(...PRIORITIES);

describe("a job's subject", () => {
  it("says which model, tenant, generation and priority it was made for", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, anyPriority, (ref, model, priority) => {
        expect(parseJobSubject(jobSubject(model, ref, priority))).toEqual({ ...ref, model, priority });
      }),
    );
  });

  it("is selected by the lane of its own model, tenant and priority and by no other", () => {
    const anyLane = fc.tuple(anyModelName, anyRef, anyPriority);
    fc.assert(
      fc.property(
        anyLane,
        anyLane,
        fc.boolean(),
        ([model, ref, priority], [other, { tenant }, its], isNear) => {
          const lane: LaneName = { tenant: ref.tenant, priority };
          const otherLane: LaneName = isNear
            ? { tenant: ref.tenant, priority: priority === "batch" ? "interactive" : "batch" }
            : { tenant, priority: its };
          const otherModel = isNear ? model : other;
          fc.pre(model !== otherModel || laneKey(lane) !== laneKey(otherLane));
          const [own, foreign] = [jobLane(model, lane), jobLane(otherModel, otherLane)];
          const subject = jobSubject(model, ref, priority);
          expect([selects(own.filter, subject), selects(foreign.filter, subject)]).toEqual([true, false]);
          expect(own.consumer).not.toBe(foreign.consumer);
          expect([own.consumer, foreign.consumer]).not.toContain(wholeQueueConsumer(model));
          expect(own.consumer).toMatch(/^[\w-]{1,140}$/);
          expect(laneOf(subject)).toEqual(lane);
        },
      ),
    );
  });

  it("and its hint are for the workers of its own model", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, anyModelName, anyPriority, (ref, model, otherModel, priority) => {
        fc.pre(model !== otherModel);
        for (const [subject, all, others] of [
          [jobSubject(model, ref, priority), modelJobs(model), modelJobs(otherModel)],
          [queuedSubject(model, ref, priority), queuedJobs(model), queuedJobs(otherModel)],
        ] as const) {
          expect([selects(all, subject), selects(others, subject)]).toEqual([true, false]);
          expect(laneOf(subject)).toEqual({ tenant: ref.tenant, priority });
        }
      }),
    );
  });

  it("is one of its generation's, of whichever model and priority, and of no other's", () => {
    fc.assert(
      fc.property(anyRef, anyRef, anyModelName, anyPriority, (ref, other, model, priority) => {
        fc.pre(ref.tenant !== other.tenant || ref.generation !== other.generation);
        const subject = jobSubject(model, ref, priority);
        const selecting = (one: GenerationRef) =>
          generationJobs(one).filter((filter) => selects(filter, subject)).length;
        expect([selecting(ref), selecting(other)]).toEqual([1, 0]);
      }),
    );
  });

  it.each(["job.sim", "job.sim.acme", "job.sim.a*.g", "queued.sim.acme.g.x", "job.sim.acme.g.batch.x"])(
    "that no lane selects has none: %s",
    (subject) => {
      expect(laneOf(subject)).toBeUndefined();
    },
  );

  it("that was changed in one place is refused or says exactly what it was changed to", () => {
    fc.assert(
      fc.property(
        anyRef,
        fc.nat(),
        fc.constantFrom(".", "*", ">", " ", "_", "a", "é", ""),
        anyPriority,
        (ref, at, char, priority) => {
          const subject = jobSubject("meta-llama/Llama-3.1", ref, priority);
          const index = at % subject.length;
          const changed = subject.slice(0, index) + char + subject.slice(index + 1);
          expect([changed, "protocol_violation"]).toContain(reparse(changed));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  const id = `gen_0_${"0".repeat(26)}`;
  it.each([
    "",
    "job",
    `job.sim.acme`,
    `gen.sim.acme.${id}`,
    `job.sim.acme.${id}.x`,
    `job.sim.acme.${id}.interactive`,
    `job.sim.acme.${id}.batch.batch`,
    `job._2.acme.${id}`,
    `job.sim.*.${id}`,
    "job.sim.acme.gen_1",
  ])("of another form is refused: %j", (subject) => {
    expect(() => parseJobSubject(subject)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
  });
});

/** Matches a subject as the broker does. */
function selects(filter: string, subject: string): boolean {
  const [wanted, tokens] = [filter.split("."), subject.split(".")];
  const isOpen = wanted.at(-1) === ">";
  if (isOpen ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, i) => token === ">" || token === "*" || token === tokens[i]);
}

/** The subject again, made from what it says, or the code of the refusal. */
function reparse(subject: string): string {
  try {
    const { model, priority, ...ref } = parseJobSubject(subject);
    return jobSubject(model, ref, priority);
  } catch (error) {
    return (error as { code: string }).code;
  }
}
