import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import type { ModerationPolicy } from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";
import { startEndlessModel } from "./testing/endless-model.ts";
import { PATIENT, saying, TENANT, untilJudged, wholly } from "./testing/moderated.ts";

const SAID = ["Her name is ", "Jo", "hn Sm", "ith, she says."];
const NAMES = { terms: ["john smith"], name: "names" };
const REVIEW: ModerationPolicy = { mode: "gate", rules: [{ ...NAMES, action: "review" }] };

interface Listed {
  readonly reviews: readonly { readonly id: string; readonly generation: string; readonly text: string }[];
}

test("a halt stops the worker's engine, and every reader's text ends before what was found", async () => {
  await using cluster = await startCluster();
  await using dir = await createTempDir("halt");
  await using model = await startEndlessModel("endless", SAID);
  const modelsFile = join(dir.path, "models.json");
  await writeFile(modelsFile, model.modelsFile);
  const env = { REPRISE_MODELS_FILE: modelsFile };
  const [{ url }] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startModeration(),
    cluster.startWorker(env),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const moderation: ModerationPolicy = {
    mode: "gate",
    rules: [{ ...NAMES, action: "halt" }],
    replacement: "…",
    ...PATIENT,
  };
  const stream = generations.run({ model: "endless", input: "Go on.", policy: { moderation } });
  const outcome = await stream.done();
  await model.givenUp;
  const judged = await untilJudged(cluster, stream.id!);
  expect(outcome).toMatchObject({ status: "completed", text: "Her name is …" });
  expect(judged.decisions).toEqual(["moderation.halted"]);
  expect(judged.events.filter(({ type }) => type === "generation.completed")).toMatchObject([
    { finish_reason: "content_filter" },
  ]);
  expect([judged.text, judged.spans]).toEqual([outcome.text, wholly(judged)]);
});

/** A generation with a question to people, from a gate. */
async function ask(cluster: Cluster, url: string, policy: ModerationPolicy = REVIEW) {
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const { id } = await generations.create(saying(SAID, policy));
  const read = generations.stream(id).done();
  const call = async (path: string, body?: object) => {
    const response = await fetch(`${url}/v1/reviews${path}`, {
      headers: { authorization: `Bearer ${cluster.keys[TENANT]}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as unknown };
  };
  return { id, read, call };
}

const DECISIONS: [decision: object, text: string, decisions: string[]][] = [
  [{ decision: "approve" }, SAID.join(""), ["moderation.review", "moderation.reviewed"]],
  [
    { decision: "edit", replacement: "somebody" },
    "Her name is somebody, she says.",
    ["moderation.review", "moderation.reviewed", "moderation.redacted"],
  ],
  [
    { decision: "halt" },
    "Her name is [redacted]",
    ["moderation.review", "moderation.reviewed", "moderation.halted"],
  ],
];

test("a review holds a gate until a person decides at any node; then readers get what was decided, once", async () => {
  await using cluster = await startCluster();
  const [one, two] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startWorker(),
  ]);
  for (const [decision, text, decisions] of DECISIONS) {
    const { id, read, call } = await ask(cluster, one.url);
    const log = await cluster.untilLog(TENANT, id, (events) =>
      events.some(({ type }) => type === "moderation.review"),
    );
    const asked = log.find(({ type }) => type === "moderation.review") as { review_id?: string };
    const reviewId = `${id}.${asked.review_id}`;
    // What is cleared, and what is asked, is known a moment after the log has the question.
    const elsewhere = createClient({ url: two.url, apiKey: cluster.keys[TENANT]! }).generations;
    await expect.poll(async () => (await elsewhere.get(id)).text).toBe("Her name is ");
    const listed = async () => ((await call("")).json as Listed).reviews;
    await expect.poll(listed).toMatchObject([{ id: reviewId, generation: id }]);

    const answers = await Promise.all([call(`/${reviewId}`, decision), call(`/${reviewId}`, decision)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await read).toMatchObject({ status: "completed", text });
    const judged = await untilJudged(cluster, id);
    expect([judged.text, judged.decisions]).toEqual([text, decisions]);
    expect(judged.spans).toEqual(wholly(judged));
    await expect.poll(listed).toEqual([]);
  }
});

test("a review without an answer is decided by the policy, and records that", async () => {
  await using cluster = await startCluster();
  const [{ url }] = await Promise.all([
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startModeration(),
    cluster.startWorker(),
  ]);
  const { id, read } = await ask(cluster, url, { ...REVIEW, review: { answer: "redact", after_ms: 300 } });
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]!, retry: { reviewDelayMs: 100 } });
  const shown = saying(SAID, { ...REVIEW, mode: "retract", review: { answer: "redact", after_ms: 300 } });
  const awaited = generations.run(shown, { awaitReviews: true }).done();
  expect(await read).toMatchObject({ text: "Her name is [redacted], she says." });
  expect(await awaited).toMatchObject({ status: "completed", text: "Her name is [redacted], she says." });
  const judged = await untilJudged(cluster, id);
  expect(judged.decisions).toEqual(["moderation.review", "moderation.reviewed", "moderation.redacted"]);
  expect(judged.events).toContainEqual(
    expect.objectContaining({ type: "moderation.reviewed", reviewer: "timeout", decision: "edit" }),
  );
});
