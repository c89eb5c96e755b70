import { createClient } from "@reprise/client";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { CARD, MASK, saying, TENANT, untilJudged, wholly } from "./testing/moderated.ts";

const SAID = ["Pay with ", "4111 1111", " 1111 1111", ", please."];
const SHOWN = SAID.join("").replace(CARD, MASK);

const isUnavailable = ({ type }: { type: string }) => type === "moderation.unavailable";

test("fail_closed: without moderation readers get an error and nothing else; with it they get the text", async () => {
  await using cluster = await startCluster();
  const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const apiKey = cluster.keys[TENANT]!;
  const { generations } = createClient({ url, apiKey });
  const unavailable = { answer: "fail_closed", after_ms: 200 } as const;
  const { id } = await generations.create(
    saying(SAID, { mode: "gate", rules: ["cards"], on_unavailable: unavailable }),
  );
  await using reader = await openSseReader(`${url}/v1/generations/${id}/events`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
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
