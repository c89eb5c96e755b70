import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyModelName, anyRef } from "../arbitraries.fixture.ts";
import {
  jobLane,
  jobSubject,
  laneTenant,
  modelJobs,
  parseJobSubject,
  queuedJobs,
  queuedSubject,
  wholeQueueConsumer,
} from "./job-subject.ts";

describe("a job's subject", () => {
  it("says which model, tenant and generation it was made for", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, (ref, model) => {
        expect(parseJobSubject(jobSubject(model, ref))).toEqual({ ...ref, model });
      }),
    );
  });

  it("is selected by the lane of its own model and tenant and by no other", () => {
    const anyLane = fc.tuple(anyModelName, anyRef);
    fc.assert(
      fc.property(anyLane, anyLane, ([model, ref], [otherModel, { tenant }]) => {
        fc.pre(model !== otherModel || ref.tenant !== tenant);
        const lane = jobLane(model, ref.tenant);
        const other = jobLane(otherModel, tenant);
        const subject = jobSubject(model, ref);
        expect(subject.startsWith(lane.filter.replace(">", ""))).toBe(true);
        expect(subject.startsWith(other.filter.replace(">", ""))).toBe(false);
        expect(lane.consumer).not.toBe(other.consumer);
        expect([lane.consumer, other.consumer]).not.toContain(wholeQueueConsumer(model));
        expect(lane.consumer).toMatch(/^[\w-]{1,140}$/);
        expect(laneTenant(subject)).toBe(ref.tenant);
      }),
    );
  });

  it("and its hint are for the workers of its own model", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, anyModelName, (ref, model, otherModel) => {
        fc.pre(model !== otherModel);
        for (const [subject, all, others] of [
          [jobSubject(model, ref), modelJobs(model), modelJobs(otherModel)],
          [queuedSubject(model, ref), queuedJobs(model), queuedJobs(otherModel)],
        ] as const) {
          expect(subject.startsWith(all.replace(">", ""))).toBe(true);
          expect(subject.startsWith(others.replace(">", ""))).toBe(false);
          expect(laneTenant(subject)).toBe(ref.tenant);
        }
      }),
    );
  });

  it("that was changed in one place is refused or says exactly what it was changed to", () => {
    fc.assert(
      fc.property(
        anyRef,
        fc.nat(),
        fc.constantFrom(".", "*", ">", " ", "_", "a", "é", ""),
        (ref, at, char) => {
          const subject = jobSubject("meta-llama/Llama-3.1", ref);
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
    `job._2.acme.${id}`,
    `job.sim.*.${id}`,
    "job.sim.acme.gen_1",
  ])("of another form is refused: %j", (subject) => {
    expect(() => parseJobSubject(subject)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
  });
});

/** The subject again, made from what it says, or the code of the refusal. */
function reparse(subject: string): string {
  try {
    const { model, ...ref } = parseJobSubject(subject);
    return jobSubject(model, ref);
  } catch (error) {
    return (error as { code: string }).code;
  }
}
