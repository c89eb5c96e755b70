import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyModelName, anyRef } from "./arbitraries.fixture.ts";
import { isToken, shardOf } from "./id.ts";
import {
  checkpointSubject,
  generationsStream,
  jobQueue,
  jobSubject,
  liveSubject,
  logSubject,
  parseJobSubject,
  shardSubjects,
  streamOf,
} from "./subject.ts";

describe("subjects", () => {
  it("have a fixed number of parts, each of them a plain token, whatever the tenant, generation and model", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, (ref, model) => {
        const parts = [logSubject(ref), liveSubject(ref), checkpointSubject(ref), jobSubject(model, ref)].map(
          (s) => s.split("."),
        );
        expect(parts.map((tokens) => tokens.length)).toEqual([4, 5, 4, 4]);
        expect(parts.flat().filter((token) => !isToken(token))).toEqual([]);
      }),
    );
  });

  it("of two tenants never meet, even for the same generation", () => {
    fc.assert(
      fc.property(anyRef, anyRef, (one, other) => {
        fc.pre(one.tenant !== other.tenant);
        const trespasser = { tenant: other.tenant, generation: one.generation };
        expect(logSubject(trespasser)).not.toBe(logSubject(one));
        expect(checkpointSubject(trespasser)).not.toBe(checkpointSubject(one));
      }),
    );
  });

  it("of a log lie in the stream of the generation's own shard", () => {
    fc.assert(
      fc.property(anyRef, (ref) => {
        const shard = shardOf(ref.generation);
        const { stored, live } = shardSubjects(shard);
        expect(streamOf(ref.generation)).toBe(generationsStream(shard));
        expect(logSubject(ref).startsWith(stored.replace(">", ""))).toBe(true);
        expect(liveSubject(ref).startsWith(live.replace(">", ""))).toBe(true);
      }),
    );
  });

  it.each([-1, 0.5, 1_000, Number.NaN, Number.POSITIVE_INFINITY, 1e21])(
    "are not made for shard %d",
    (shard) => {
      expect(() => shardSubjects(shard)).toThrow(TypeError);
      expect(() => generationsStream(shard)).toThrow(TypeError);
    },
  );
});

describe("a job's subject", () => {
  it("says which model, tenant and generation it was made for", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, (ref, model) => {
        expect(parseJobSubject(jobSubject(model, ref))).toEqual({ ...ref, model });
      }),
    );
  });

  it("is selected by the queue of its own model and by no other", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, anyModelName, (ref, model, otherModel) => {
        fc.pre(model !== otherModel);
        const subject = jobSubject(model, ref);
        expect(subject.startsWith(jobQueue(model).filter.replace(">", ""))).toBe(true);
        expect(subject.startsWith(jobQueue(otherModel).filter.replace(">", ""))).toBe(false);
        expect(isToken(jobQueue(model).consumer.slice(0, 64))).toBe(true);
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
