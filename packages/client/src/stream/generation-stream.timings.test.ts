import { expect, it } from "vitest";
import { completedLog } from "../testing/example-log.ts";
import { startFakeDelivery } from "../testing/fake-delivery.ts";
import { FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient } from "../testing/test-runtime.ts";

const log = completedLog(["Hello, ", "world."]);

it("reports what a reading took, once, over all its connections", async () => {
  await using delivery = await startFakeDelivery({ log, faults: [{ kind: "end", afterEvents: 2 }] });
  const client = createTestClient(delivery.url, { reportTimings: true });
  expect((await client.generations.stream(FAKE_ID).done()).text).toBe("Hello, world.");
  const posts = () => delivery.requests.filter(({ method }) => method === "POST");
  // The report is waited for by nothing, so it may still be on its way.
  if (posts().length === 0) await delivery.nextRequest();
  const [{ url, body } = { url: "", body: "" }, ...others] = posts();
  expect(others).toEqual([]);
  expect(url).toBe(`/v1/generations/${FAKE_ID}/timings`);
  expect(JSON.parse(body)).toEqual({
    round_trip_ms: expect.any(Number),
    first_event_ms: expect.any(Number),
    first_text_ms: expect.any(Number),
    longest_gap_ms: expect.any(Number),
    reconnects: 1,
  });
});

it("reports nothing unless it is told to", async () => {
  await using delivery = await startFakeDelivery({ log });
  await createTestClient(delivery.url).generations.stream(FAKE_ID).done();
  expect(delivery.requests.map(({ method }) => method)).toEqual(["GET"]);
});
