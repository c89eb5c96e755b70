import { decodeOpsRecord, OPS_STREAM, STREAM_START } from "@reprise/protocol";
import { readAllMessages } from "@reprise/broker";
import { expect, test } from "vitest";
import { call, createGeneration, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";

async function readTimings({ broker }: Platform) {
  const from = { afterStreamSeq: STREAM_START, maxMessages: 100, maxBytes: 100_000, subject: "ops.>" };
  const records = [];
  for await (const { payload } of readAllMessages(broker.reads, OPS_STREAM, from)) {
    const record = decodeOpsRecord(payload);
    if (record?.kind === "timings") records.push(record);
  }
  return records;
}

test("what a client has measured is recorded, rounded, with who measured it", async () => {
  await using platform = await openPlatform();
  const { path } = await createGeneration(platform);
  const body = { round_trip_ms: 12.4, first_event_ms: 300.6, longest_gap_ms: 0, reconnects: 2 };
  const { status, text } = await call(`${platform.node.url}${path}/timings`, { body });
  expect([status, text]).toEqual([204, ""]);
  expect(await readTimings(platform)).toEqual([
    {
      kind: "timings",
      at: expect.any(String),
      by: "ann",
      address: "loopback",
      timings: { round_trip_ms: 12, first_event_ms: 301, longest_gap_ms: 0, reconnects: 2 },
    },
  ]);
});

test.each([
  { round_trip_ms: -1 },
  { round_trip_ms: 86_400_001 },
  { round_trip_ms: "12" },
  { reconnects: 0.5 },
  { reconnects: 1_000_001 },
  { note: "prompt" },
  [],
])("%j is refused, and nothing is recorded", async (body) => {
  await using platform = await openPlatform();
  const { path } = await createGeneration(platform);
  const { status, json } = await call(`${platform.node.url}${path}/timings`, { body });
  expect([status, json]).toMatchObject([400, { error: { code: "invalid_request" } }]);
  expect(await readTimings(platform)).toEqual([]);
});

test("timings of another tenant's generation, or of none, are not found", async () => {
  await using platform = await openPlatform();
  const { path } = await createGeneration(platform);
  for (const [at, key] of [
    [path, KEYS.beta],
    ["/v1/generations/gen_0_00000000000000000000000000", KEYS.acme],
  ] as const) {
    const { status } = await call(`${platform.node.url}${at}/timings`, { key, body: { round_trip_ms: 1 } });
    expect(status).toBe(404);
  }
  expect(await readTimings(platform)).toEqual([]);
});
