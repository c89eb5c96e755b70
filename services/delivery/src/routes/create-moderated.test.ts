import { jetstreamManager } from "@nats-io/jetstream";
import { readPolicy } from "@reprise/stream";
import { readRuleSet } from "@reprise/moderation";
import { JOBS_STREAM, type ModerationRule, ruleSetId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { moderatedBody } from "../testing/moderation.ts";
import { call, createGeneration, openPlatform } from "../testing/platform.ts";

test("the policy of a moderated generation names its rules, and they are kept", async () => {
  await using platform = await openPlatform();
  const rules: ModerationRule[] = ["cards", { terms: ["secret"], action: "halt" }];
  const { ref } = await createGeneration(platform, { body: moderatedBody({ mode: "retract", rules }) });
  const { events } = await platform.log.reader.readLog(ref);
  const id = await ruleSetId(rules);
  expect(readPolicy(events[0]!)?.moderation).toMatchObject({ mode: "retract", rule_set: id });
  expect(await readRuleSet(platform.broker.main, ref.tenant, id)).toEqual(rules);
});

test("rules alone moderate nothing: the mode is off by default", async () => {
  await using platform = await openPlatform();
  const body = moderatedBody({ rules: ["cards"] });
  const { ref } = await createGeneration(platform, { body });
  const { events } = await platform.log.reader.readLog(ref);
  expect(readPolicy(events[0]!)?.moderation).toBeUndefined();
  const id = await ruleSetId(["cards"]);
  expect(await readRuleSet(platform.broker.main, ref.tenant, id)).toBeUndefined();
});

test("refuses a classifier that does not exist by its name, in any mode, and creates nothing", async () => {
  await using platform = await openPlatform({ classifiers: new Set(["omni"]) });
  const rulesOf = (classifier: string) => ["cards", { classifier }] satisfies ModerationRule[];
  const create = (body: unknown) => call(`${platform.node.url}/v1/generations`, { body });
  for (const mode of ["gate", "off"] as const) {
    const { status, json } = await create(moderatedBody({ mode, rules: rulesOf("omny") }));
    expect([status, json]).toMatchObject([
      400,
      { error: { code: "invalid_request", param: "policy.moderation.rules.1.classifier" } },
    ]);
  }
  const manager = await jetstreamManager(platform.broker.main);
  expect((await manager.streams.info(JOBS_STREAM)).state.messages).toBe(0);
  expect((await create(moderatedBody({ mode: "gate", rules: rulesOf("omni") }))).status).toBe(201);
});

test("a node that does not know the classifiers takes any name, until it is told of them", async () => {
  await using platform = await openPlatform();
  const body = moderatedBody({ mode: "gate", rules: [{ classifier: "omny" }] });
  const create = async () => (await call(`${platform.node.url}/v1/generations`, { body })).status;
  expect(await create()).toBe(201);
  platform.node.delivery.setNames({ models: new Set(["sim"]), classifiers: new Set(["omni"]) });
  expect(await create()).toBe(400);
});

test("refuses an unusable rule by its name, in any mode, and creates nothing", async () => {
  await using platform = await openPlatform();
  for (const mode of ["gate", "off"] as const) {
    for (const [rule, at] of [
      [{ pattern: "(a" }, "pattern"],
      [{ terms: Array.from({ length: 600 }, (_, i) => `${i}`.padEnd(128, "x")) }, "terms"],
    ] as const) {
      const { status, json } = await call(`${platform.node.url}/v1/generations`, {
        body: moderatedBody({ mode, rules: ["cards", rule] }),
      });
      expect([status, json]).toMatchObject([
        400,
        { error: { code: "invalid_request", param: `policy.moderation.rules.1.${at}` } },
      ]);
    }
  }
  const manager = await jetstreamManager(platform.broker.main);
  expect((await manager.streams.info(JOBS_STREAM)).state.messages).toBe(0);
});
