import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { createSseDecoder, decodeEvent, Transcript } from "@reprise/protocol";
import { createTempDir, openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { CARD, MASK, PATIENT, TENANT, untilJudged } from "./testing/moderated.ts";
import { startToldModel } from "./testing/told-model.ts";

/** Text without a finding, and what makes it a card number. */
const BEFORE = ["You may pay with ", "4111"];
const AFTER = [" 1111 ", "1111 1", "111", ", ", "she", " said", ", or not", " at all."];
const SAID = [...BEFORE, ...AFTER].join("");
const SHOWN = SAID.replace(CARD, MASK);
const WITHDRAWN = /4111|1111/;

/** The text of an obeying client after these events, given as JSON texts. */
function textAfter(events: readonly string[]): string {
  const transcript = new Transcript();
  for (const event of events) transcript.apply(decodeEvent(event));
  return transcript.text;
}

test("what was withdrawn stays withdrawn: for readers that saw it, resume, join late, read pages, ask or use the SDK", async () => {
  await using cluster = await startCluster();
  await using dir = await createTempDir("withdrawn");
  await using model = await startToldModel("told");
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  await writeFile(env.REPRISE_MODELS_FILE, model.modelsFile);
  const [{ url }, other] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startDelivery(env),
    cluster.startModeration(),
    cluster.startWorker(env),
  ]);
  const headers = { authorization: `Bearer ${cluster.keys[TENANT]}` };
  const sdkAt = (base: string) => createClient({ url: base, apiKey: cluster.keys[TENANT]! }).generations;
  const moderation = { mode: "retract", rules: ["cards"], ...PATIENT };
  const body = { model: "told", input: "Say it.", policy: { moderation } };
  const create = { "idempotency-key": "withdrawn", accept: "text/event-stream" };

  await using live = await openSseReader(`${url}/v1/generations`, {
    method: "POST",
    headers: { ...headers, ...create },
    body,
  });
  const id = String(live.headers["reprise-generation-id"]);
  const path = `/v1/generations/${id}`;
  const sdk = sdkAt(url).stream(id).done();
  // The reader that will come back has seen the beginning of what is withdrawn later, and nothing of its withdrawal.
  await using leaver = await openSseReader(`${url}${path}/events`, { headers });
  await model.say(BEFORE);
  while (!leaver.bytes.includes("4111")) await leaver.nextFrame();
  leaver.cut();
  const left = leaver.frames.map(({ data }) => data);
  await model.say(AFTER);
  await model.finish();

  expect(await live.ended).toBe("clean");
  const seen = live.frames.map(({ data }) => data);
  expect(seen.some((event) => WITHDRAWN.test(event))).toBe(true);
  expect(textAfter(seen)).toBe(SHOWN);
  expect((await sdk).text).toBe(SHOWN);

  const judged = await untilJudged(cluster, id);
  expect(judged.decisions).toEqual(["moderation.redacted"]);
  expect(judged.shown.join("")).not.toMatch(WITHDRAWN);

  // Every node, by every way; a cursor from before the withdrawal, from within it, and none.
  for (const base of [url, other.url]) {
    const read = async (query: string, more: Record<string, string> = {}) => {
      await using reader = await openSseReader(`${base}${path}/events${query}`, {
        headers: { ...headers, ...more },
      });
      expect(await reader.ended).toBe("clean");
      return reader.frames.map(({ data }) => data);
    };
    expect(await read("")).toEqual(judged.shown);
    for (const [at, { id: cursor }] of live.frames.entries())
      expect(await read(`?after=${cursor}`)).toEqual(judged.shown.slice(at + 1));

    const rest = await read("", { "last-event-id": leaver.lastEventId });
    expect(rest).toEqual(judged.shown.slice(left.length));
    expect(textAfter([...left, ...rest])).toBe(SHOWN);

    const page = await fetch(`${base}${path}/events`, {
      headers: { ...headers, accept: "application/json" },
    });
    expect((await page.json()) as unknown).toMatchObject({
      events: judged.shown.map((event) => JSON.parse(event) as unknown),
      ended: true,
    });
    const joined = await fetch(`${base}/v1/generations`, {
      method: "POST",
      headers: {
        ...headers,
        ...create,
        "content-type": "application/json",
        "last-event-id": leaver.lastEventId,
      },
      body: JSON.stringify(body),
    });
    const frames = createSseDecoder().push(Buffer.from(await joined.arrayBuffer()));
    expect(frames.map(({ data }) => data).filter(Boolean)).toEqual(rest);

    const client = sdkAt(base);
    await expect.poll(() => client.get(id)).toMatchObject({ status: "completed", text: SHOWN });
    expect(await client.stream(id).done()).toMatchObject({ status: "completed", text: SHOWN });
  }
});
