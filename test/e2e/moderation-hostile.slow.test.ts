import { createClient } from "@reprise/client";
import type { ModerationPolicy } from "@reprise/protocol";
import { withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { cutIntoChunks, MASK, saying, TENANT, untilJudged, wholly } from "./testing/moderated.ts";

const TERM: ModerationPolicy = { rules: [{ terms: ["secret"] }] };
/** With a zero-width joiner between any two letters. */
const joined = (text: string) => text.split("").join("\u200d");
const LONG_RUN = "4111111111111111".repeat(625);
const LONG_TEXT = "a".repeat(20_000);

const HOSTILE: [name: string, policy: ModerationPolicy, said: string, shown: string][] = [
  ["zero-width joiners in a word", TERM, `a ${joined("secret")} plan`, `a ${MASK} plan`],
  [
    "zero-width joiners in a card",
    { rules: ["cards"] },
    `no ${joined("4111111111111111")} ok`,
    `no ${MASK} ok`,
  ],
  [
    "letters that look like others",
    TERM,
    "a ѕесrеt plan, a ｓｅｃｒｅｔ one",
    `a ${MASK} plan, a ${MASK} one`,
  ],
  ["10,000 digits, which are no card", { rules: ["cards"] }, `no ${LONG_RUN}. ok`, `no ${LONG_RUN}. ok`],
  [
    "a pattern that backtracks for ever",
    {
      rules: [
        { pattern: "^(a+)+$", max_length: 1_000 },
        { pattern: "(x+x+)+y", max_length: 1_000 },
      ],
    },
    `${LONG_TEXT}! ${"x".repeat(5_000)}`,
    `${LONG_TEXT}! ${"x".repeat(5_000)}`,
  ],
];

test("hostile texts and patterns are judged through a gate, in time, and nothing of them is lost", () =>
  withSeed(5, async (random) => {
    await using cluster = await startCluster();
    const [{ url }] = await Promise.all([
      cluster.startDelivery(),
      cluster.startModeration(),
      cluster.startWorker(),
    ]);
    const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
    const outcomes = await Promise.all(
      HOSTILE.map(async ([name, policy, said]) => {
        const request = saying(cutIntoChunks(said, random), { ...policy, mode: "gate" }, 0);
        const stream = generations.run(request);
        const { text } = await stream.done();
        const judged = await untilJudged(cluster, stream.id!);
        expect(judged.spans).toEqual(wholly(judged));
        return { name, text, stored: judged.text };
      }),
    );
    expect(outcomes).toEqual(HOSTILE.map(([name, , , shown]) => ({ name, text: shown, stored: shown })));
  }));

test("a pattern that no linear-time engine can run is refused, by its place in the policy", async () => {
  await using cluster = await startCluster();
  const { url } = await cluster.startDelivery();
  const response = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${cluster.keys[TENANT]}`, "content-type": "application/json" },
    body: JSON.stringify(saying(["a"], { mode: "gate", rules: ["cards", { pattern: "(a+)\\1" }] })),
  });
  const answer = (await response.json()) as unknown;
  expect([response.status, answer]).toMatchObject([
    400,
    {
      error: {
        code: "invalid_request",
        param: expect.stringContaining("policy.moderation.rules.1") as unknown,
      },
    },
  ]);
});
