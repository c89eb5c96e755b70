import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyModelName, anyRef } from "../arbitraries.fixture.ts";
import { isToken, parseNodeId, shardOf } from "../id.ts";
import { jobSubject } from "./job-subject.ts";
import {
  fillerSubject,
  isFillerSubject,
  checkpointSubject,
  generationsStream,
  liveSubject,
  liveVerdictSubject,
  logSubject,
  parseLogSubject,
  parseReaderSubject,
  parseReviewSubject,
  parseYieldSubject,
  readerSubject,
  reviewIdOf,
  reviewSubject,
  ruleSetSubject,
  shardSubjects,
  streamOf,
  tenantReviewSubjects,
  verdictSubject,
  yieldSubject,
} from "./subject.ts";

const VIOLATION = expect.objectContaining({ code: "protocol_violation" });
const RULE_SET = "0123456789abcdef0123456789";

describe("subjects", () => {
  it("have a fixed number of parts, each of them a plain token, for any tenant, generation and model", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, (ref, model) => {
        const parts = [
          logSubject(ref),
          liveSubject(ref),
          checkpointSubject(ref),
          jobSubject(model, ref),
          verdictSubject(ref),
          liveVerdictSubject(ref),
          reviewSubject(ref, reviewIdOf(asSeq(7))),
          yieldSubject(ref),
          ruleSetSubject(ref.tenant, RULE_SET),
        ].map((subject) => subject.split("."));
        expect(parts.map((tokens) => tokens.length)).toEqual([4, 5, 4, 4, 4, 5, 4, 4, 3]);
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
        expect(verdictSubject(trespasser)).not.toBe(verdictSubject(one));
        expect(ruleSetSubject(other.tenant, RULE_SET)).not.toBe(ruleSetSubject(one.tenant, RULE_SET));
        const reviews = tenantReviewSubjects(one.tenant).replace(">", "");
        expect(reviewSubject(one, "rev_1").startsWith(reviews)).toBe(true);
        expect(reviewSubject(trespasser, "rev_1").startsWith(reviews)).toBe(false);
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

describe("the subject of a log, a reader or a review", () => {
  it("says what it was made for", () => {
    const node = parseNodeId("node-1");
    fc.assert(
      fc.property(anyRef, fc.nat(999_999_999), (ref, seq) => {
        expect(parseLogSubject(logSubject(ref))).toEqual(ref);
        expect(parseYieldSubject(yieldSubject(ref))).toEqual(ref);
        expect(parseReaderSubject(readerSubject(ref, node))).toEqual({ ...ref, node });
        const reviewId = reviewIdOf(asSeq(seq));
        expect(parseReviewSubject(reviewSubject(ref, reviewId))).toEqual({ ref, reviewId });
      }),
    );
  });

  const id = `gen_0_${"0".repeat(26)}`;
  it.each([
    "",
    "gen.0.acme",
    `job.0.acme.${id}`,
    `gen.1.acme.${id}`,
    `gen.0.*.${id}`,
    `gen.0.acme.${id}.x`,
    "gen.0.acme.gen_1",
  ])("of another form is no log's: %j", (subject) =>
    expect(() => parseLogSubject(subject)).toThrow(VIOLATION),
  );

  it.each(["", `gen.0.acme.${id}`, `yield.1.acme.${id}`, "yield.*.*.*", `yield.0.acme.${id}.x`])(
    "of another form does not ask for a log: %j",
    (subject) => expect(() => parseYieldSubject(subject)).toThrow(VIOLATION),
  );

  it.each([
    "",
    `review.acme.${id}`,
    `review.acme.${id}.rev_`,
    `review.acme.${id}.rev_x`,
    `review.acme.${id}.rev_1.x`,
    `review.*.${id}.rev_1`,
    `reviews.acme.${id}.rev_1`,
    "review.acme.gen_1.rev_1",
  ])("of another form is no review's: %j", (subject) =>
    expect(() => parseReviewSubject(subject)).toThrow(VIOLATION),
  );

  it.each(["", "rev_", "rev_*", "rev_1.x", "rev_1234567890", "REV_1"])(
    "is not made for an impossible review id: %j",
    (reviewId) =>
      fc.assert(
        fc.property(anyRef, (ref) => {
          expect(() => reviewSubject(ref, reviewId)).toThrow(
            expect.objectContaining({ code: "review_not_found" }),
          );
        }),
        { numRuns: 5 },
      ),
  );

  it.each(["", "*", "a.b", RULE_SET.toUpperCase(), `${RULE_SET}0`])(
    "is not made for a set of rules with the id %j",
    (ruleSet) =>
      fc.assert(
        fc.property(anyRef, ({ tenant }) => {
          expect(() => ruleSetSubject(tenant, ruleSet)).toThrow(TypeError);
        }),
        { numRuns: 5 },
      ),
  );
});

describe("the subject of filler", () => {
  it.each([shardSubjects(7).stored, "job.>", "ckpt.>"])(
    "is stored by the stream of %j, and is recognised as filler",
    (subjects) => {
      const filler = fillerSubject(subjects);
      expect(filler.startsWith(subjects.slice(0, -1))).toBe(true);
      expect(isFillerSubject(filler)).toBe(true);
      expect(() => parseLogSubject(filler)).toThrow(VIOLATION);
    },
  );

  it("is never a generation's, for any tenant", () => {
    fc.assert(
      fc.property(anyRef, anyModelName, (ref, model) => {
        const subjects = [
          logSubject(ref),
          checkpointSubject(ref),
          jobSubject(model, ref),
          verdictSubject(ref),
        ];
        expect(subjects.filter(isFillerSubject)).toEqual([]);
      }),
    );
  });
});
