import { type EffectiveModeration, type KnownEvent, MAX_LOGPROBS } from "@reprise/protocol";
import { moderatedPolicy } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { openWorld, type Submission } from "../../testing/world.ts";

const ANSWER = { options: { chunks: ["a", "b", "c"], tokens_per_second: 0 } };

async function logprobsOf(submission: Submission) {
  await using world = await openWorld();
  await world.startWorker(createSimEngine());
  const events = await world.untilEnded(await world.submit({ ...ANSWER, ...submission }));
  return likelyIn(events);
}

const likelyIn = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "output.delta" ? (event.logprobs ?? []) : []));

const moderated = (mode: EffectiveModeration["mode"]) => ({ policy: moderatedPolicy({ mode }) });

test.each([
  ["unmoderated", {}],
  ["observed", moderated("observe")],
])("where text is %s the log has what was asked for", async (_how, submission) => {
  const found = await logprobsOf({ ...submission, request: { logprobs: 2 } });
  expect(found.map(({ token, top }) => [token, top?.length])).toEqual([
    ["a", 2],
    ["b", 2],
    ["c", 2],
  ]);
});

test.each(["gate", "retract"] as const)(
  "in a %s the log has numbers alone: no word that moderation does not judge, and none a second time",
  async (mode) => {
    const found = await logprobsOf({ ...moderated(mode), request: { logprobs: 2 } });
    expect(found).toEqual(Array.from({ length: 3 }, () => ({ logprob: -Math.LN2 })));
  },
);

test("a run gives no more of them than its limit, and all of its text", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine());
  const options = { tokens: 2_500, tokens_per_second: 0 };
  const events = await world.untilEnded(await world.submit({ options, request: { logprobs: 20 } }));
  expect(likelyIn(events)).toHaveLength(Math.floor(MAX_LOGPROBS / 21));
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 2_500 } });
});

test("a request that does not ask for them gets events without the field", async () => {
  expect(await logprobsOf({})).toEqual([]);
});
