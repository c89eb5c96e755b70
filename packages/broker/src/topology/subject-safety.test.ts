import { encodeEvent, parseGenerationId, parseTenantId, RepriseError, asSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { enqueueJob, pullJobs } from "@reprise/jobs";
import { newRef, openWorld, requested } from "@reprise/stream/testing";

const HOSTILE = [
  "*",
  ">",
  "a.*",
  "a.>",
  "*.b",
  "a b",
  "a\r\nPUB x 0",
  "a\tb",
  "",
  ".",
  "a.",
  ".a",
  "$JS",
  "\u0000",
  "ä",
  "a".repeat(65),
];

describe("what varies in a subject", () => {
  test.each(HOSTILE)("can't be a tenant %j", (name) => {
    expect(() => parseTenantId(name)).toThrow(RepriseError);
  });

  test.each([...HOSTILE, "gen_*_abc", "gen_0_>", "gen_0_*************************a"])(
    "can't be a generation %j",
    (name) => {
      expect(() => parseGenerationId(name)).toThrow(RepriseError);
    },
  );

  test("may be any name of a model, and then names that model alone", async () => {
    await using world = await openWorld();
    const models = ["*", ">", "a.*", "a.>", "a b", "a", "a.b", "_2a", "ä"];
    const got: string[] = [];
    const pullers = await Promise.all(
      models.map((model) =>
        pullJobs({
          connection: world.broker.main,
          model,
          slots: 100,
          ackWaitMs: 60_000,
          run: (job) => (got.push(`${model}: ${job.model}`), job.ack()),
          onError: (error) => world.errors.push(error),
        }),
      ),
    );
    for (const model of models) {
      const ref = newRef();
      await enqueueJob(world.log.publish, { model, ref, payload: encodeEvent(asSeq(0), requested(ref)) });
    }
    await eventually(() =>
      expect(got.toSorted()).toEqual(models.map((model) => `${model}: ${model}`).toSorted()),
    );
    for (const puller of pullers) puller.stop();
    expect(world.errors).toEqual([]);
  });

  test.each(["", "\ud800", "x".repeat(65), "ä".repeat(22)])(
    "can't be the name %j of a model",
    async (model) => {
      await using world = await openWorld();
      const ref = newRef();
      const job = { model, ref, payload: encodeEvent(asSeq(0), requested(ref)) };
      await expect(enqueueJob(world.log.publish, job)).rejects.toMatchObject({ code: "invalid_request" });
    },
  );
});

describe("a subject that is no single address", () => {
  test.each(["gen.0.*.x", "gen.0.>", "job.*.a.b", ">", "gen.0.a b", "gen.0..x", "gen.0.x."])(
    "is never published to: %j",
    async (subject) => {
      await using world = await openWorld();
      await expect(world.log.publish(subject, Buffer.from("x"), {})).rejects.toMatchObject({
        code: "internal",
      });
    },
  );
});
