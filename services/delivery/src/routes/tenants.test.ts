import { encodeEvent, logSubject, asSeq, asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { append, call, createGeneration, delta, KEYS, openPlatform, started } from "../testing/platform.ts";

/** Every route that takes an id. */
const ROUTES: readonly [method: string, path: string, accept: string, body?: unknown][] = [
  ["GET", "", "application/json"],
  ["GET", "/events", "text/event-stream"],
  ["GET", "/events", "application/json"],
  ["GET", "/events?after=1-1", "text/event-stream"],
  ["GET", "/events?after=1-1&wait=1000", "application/json"],
  ["POST", "/cancel", "application/json"],
  ["POST", "/tool-results", "application/json", { call_id: "c", output: 1 }],
  ["GET", "/moderation", "application/json"],
];

const NOT_FOUND = {
  error: { code: "generation_not_found", message: expect.any(String), param: "id", retryable: false },
};

test("another tenant's generation does not exist, whether or not this node serves it to its owner", async () => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform);
  await append(worker, started(), delta("secret"));
  const ask = async () => {
    for (const [method, at, accept, body] of ROUTES) {
      const { status, json } = await call(`${platform.node.url}${path}${at}`, {
        method,
        key: KEYS.beta,
        body,
        headers: { accept },
      });
      expect([method, at, status, json]).toEqual([method, at, 404, NOT_FOUND]);
    }
  };
  await ask();
  // From here on the node has it in memory.
  const page = await call(`${platform.node.url}${path}/events`, { headers: { accept: "application/json" } });
  expect(page.json).toMatchObject({ events: [{ seq: 1 }, { seq: 2, text: "secret" }] });
  await ask();
  expect((await call(`${platform.node.url}${path}`)).json).toMatchObject({
    status: "in_progress",
    text: "secret",
  });
});

test("an id that is malformed, or of a shard that does not exist, is answered like one of no generation", async () => {
  await using platform = await openPlatform();
  const ids = [
    "gen_0_00000000000000000000000000",
    "gen_999_00000000000000000000000000",
    "gen_1000_00000000000000000000000000",
    "gen_0_*",
    "gen_0_%3E",
    "gen_0_00000000000000000000000000.x",
    "gen_0_0000000000000000000000000%0A",
    "..%2Fx",
    "%00",
    "x".repeat(150),
    "x".repeat(5_000),
  ];
  for (const id of ids) {
    for (const [method, at, accept, body] of ROUTES) {
      const url = `${platform.node.url}/v1/generations/${id}${at}`;
      const { status, json } = await call(url, { method, headers: { accept }, body });
      expect([id, at, status, json]).toEqual([id, at, 404, NOT_FOUND]);
    }
  }
});

test("an event that the log refused to store is shown to no reader", async () => {
  await using platform = await openPlatform();
  const { path, worker, ref } = await createGeneration(platform);
  await append(worker, started());
  const wait = { headers: { accept: "application/json" } };
  // From here on the node listens to what is told of it.
  await call(`${platform.node.url}${path}/events`, wait);
  const waiting = call(`${platform.node.url}${path}/events?after=1-1&wait=10000`, wait);
  const stale = encodeEvent(asSeq(2), delta("never stored"));
  const outcome = await platform.log.publish(logSubject(ref), stale, {
    expectedLast: asStreamSeq(1_000_000),
    writer: "w",
  });
  expect(outcome.kind).toBe("conflict");
  await append(worker, delta("stored"));
  expect((await waiting).json).toMatchObject({ events: [{ seq: 2, text: "stored" }] });
});
