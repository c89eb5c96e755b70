import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { createTempDir, openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";
import { CARD, hasEnded, MASK, saying, TENANT, untilJudged, wholly } from "./testing/moderated.ts";
import { startToldModel } from "./testing/told-model.ts";

const SAID = ["Pay with ", "4111 1111", " 1111 1111", ", please."];
const SHOWN = SAID.join("").replace(CARD, MASK);
const AFTER_MS = 200;
/** Of five chunks. */
const LEAD = 30;

const isUnavailable = ({ type }: { type: string }) => type === "moderation.unavailable";

/** A platform without moderation, and a generation that a gate holds. */
async function openUnjudged(cluster: Cluster, answer: "fail_open" | "fail_closed") {
  const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const unavailable = { answer, after_ms: AFTER_MS };
  const policy = { mode: "gate" as const, rules: ["cards" as const], on_unavailable: unavailable };
  const { id } = await generations.create(saying(SAID, policy));
  const open = () =>
    openSseReader(`${url}/v1/generations/${id}/events`, {
      headers: { authorization: `Bearer ${cluster.keys[TENANT]}` },
    });
  return { generations, id, open };
}

test("fail_closed: without a judge readers get an error and nothing else, the log says so, and with one they go on", async () => {
  await using cluster = await startCluster();
  const { generations, id, open } = await openUnjudged(cluster, "fail_closed");
  await using reader = await open();
  expect(await reader.ended).toBe("broken");
  expect(reader.frames.filter(({ data }) => data !== "")).toMatchObject([
    { event: "error", data: expect.stringContaining('"moderation_unavailable"') as unknown },
  ]);
  const log = await cluster.untilLog(TENANT, id, (events) => events.some(isUnavailable));
  expect(log.filter(isUnavailable)).toMatchObject([{ answer: "fail_closed", judged_seq: 0 }]);

  await cluster.startModeration();
  expect(await generations.stream(id).done()).toMatchObject({ status: "completed", text: SHOWN });
  const judged = await untilJudged(cluster, id);
  expect([judged.text, judged.spans]).toEqual([SHOWN, wholly(judged)]);
});

test("fail_open: without a judge readers get everything, the log says so, and what is found later is withdrawn", async () => {
  await using cluster = await startCluster();
  const { generations, id, open } = await openUnjudged(cluster, "fail_open");
  await using reader = await open();
  expect(await reader.ended).toBe("clean");
  const seen = reader.frames.map(({ data }) => data);
  const log = await cluster.readLog(TENANT, id);
  expect(seen).toEqual(log.slice(1));
  const events = await cluster.untilLog(TENANT, id, (all) => all.some(hasEnded));
  expect(events.filter(isUnavailable)).toMatchObject([{ answer: "fail_open", judged_seq: 0 }]);
  await expect.poll(async () => (await generations.get(id)).text).toBe(SAID.join(""));

  await cluster.startModeration();
  const judged = await untilJudged(cluster, id);
  expect([judged.text, judged.spans]).toEqual([SHOWN, wholly(judged)]);
  expect(judged.decisions).toEqual(["moderation.unavailable", "moderation.redacted"]);
  // What a node shows comes a moment behind what the log has.
  const shown = () => generations.stream(id).done();
  await expect.poll(shown).toMatchObject({ status: "completed", text: SHOWN });
});

test("retract: readers of a judge that stands still come so far and no further, are told so, and go on with it", async () => {
  await using cluster = await startCluster();
  await using dir = await createTempDir("lead");
  await using model = await startToldModel("told");
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  await writeFile(env.REPRISE_MODELS_FILE, model.modelsFile);
  const [{ url }, moderation] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startModeration(),
    cluster.startWorker(env),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const { id } = await generations.create({
    model: "told",
    input: "Say it.",
    policy: {
      moderation: {
        mode: "retract",
        rules: ["cards"],
        max_lead_characters: LEAD,
        // Before it stands still a judge has this long for each event.
        on_unavailable: { answer: "fail_closed", after_ms: 10_000 },
      },
    },
  });
  const headers = { authorization: `Bearer ${cluster.keys[TENANT]}` };
  const report = async () => (await fetch(`${url}/v1/generations/${id}/moderation`, { headers })).json();
  await model.say(["Hello. "]);
  await expect.poll(report).toMatchObject({ judged: 2 });
  await moderation.pause();
  await model.say([...Array<string>(50).fill("clean "), ...SAID]);
  await model.finish();

  await using reader = await openSseReader(`${url}/v1/generations/${id}/events`, { headers });
  expect(await reader.ended).toBe("broken");
  const log = await cluster.untilLog(
    TENANT,
    id,
    (events) => events.some(isUnavailable) && events.some(hasEnded),
  );
  expect(log.filter(isUnavailable)).toMatchObject([{ answer: "fail_closed", judged_seq: 2 }]);
  const shown = Math.max(...reader.frames.map(({ id: cursor }) => Number(cursor.split("-")[1] ?? 0)));
  const lead = log.slice(3, shown + 1).map((event) => textOf([event]));
  expect(lead.join("").length).toBeLessThanOrEqual(LEAD);

  moderation.resume();
  const judged = await untilJudged(cluster, id);
  expect(judged.text).toContain(`clean ${SHOWN}`);
  const shownInTheEnd = () => generations.stream(id).done();
  await expect.poll(shownInTheEnd).toMatchObject({ status: "completed", text: judged.text });
});
