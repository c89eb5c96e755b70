import { createClient } from "@reprise/client";
import type { ModerationPolicy } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";
import { saying, TENANT, untilJudged, wholly } from "./testing/moderated.ts";

const SAID = ["Her name is ", "Jo", "hn Sm", "ith, she says."];
const REVIEW: ModerationPolicy = {
  mode: "gate",
  rules: [{ terms: ["john smith"], name: "names", action: "review" }],
};

interface Listed {
  readonly reviews: readonly { readonly id: string; readonly generation: string; readonly text: string }[];
}

/** Creates a generation whose gate asks for a review. */
async function ask(cluster: Cluster, url: string) {
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const { id } = await generations.create(saying(SAID, REVIEW));
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
