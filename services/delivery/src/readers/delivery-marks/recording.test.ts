import { recordOps } from "@reprise/broker";
import { decodeOpsRecord, type GenerationRef, opsSubject, type DeliveryMark } from "@reprise/protocol";
import { decodeSketch, fromBase64 } from "@reprise/facts";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { decide, judge, moderatedBody, redacted } from "../../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  KEYS,
  openPlatform,
  REQUEST,
  type Platform,
  started,
} from "../../testing/platform.ts";

const headers = authorization();

/** The marks that are recorded of a generation's readers, as they come. */
function listenToMarks({ broker }: Platform, { tenant, generation }: GenerationRef) {
  const marks: DeliveryMark[] = [];
  broker.main.subscribe(opsSubject("delivered", tenant, generation), {
    callback: (_error, { data }) => {
      const record = decodeOpsRecord(data);
      if (record?.kind === "delivered") marks.push(...record.readers);
    },
  });
  return {
    marks,
    /** The last mark of each of the readers that have gone. A record without an answer is published again, and heard again. */
    ended: () => {
      const last = marks.filter(({ ended_at }) => ended_at !== undefined);
      return [...new Map(last.map((mark) => [mark.reader, mark])).values()];
    },
  };
}

test("what a stream, pages and snapshots handed out is recorded, with the caller and the class of its address, never the address", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  const heard = listenToMarks(platform, ref);
  await append(worker, started(), ...deltas(5), completed());
  const url = `${platform.node.url}${path}`;
  const json = { accept: "application/json" };
  await using reader = await openSseReader(`${url}/events`, { headers, lastEventId: "1-2" });
  await reader.ended;
  await call(`${url}/events?after=1-3&limit=2`, { headers: json, key: KEYS.acmeReader });
  await call(`${url}/events?after=1-7`, { headers: json });
  await call(url);
  await expect.poll(() => heard.ended().length).toBe(3);
  const at = expect.stringMatching(/^2.*Z$/) as string;
  const common = { address: "loopback", started_at: at, ended_at: at, reader: expect.any(String) as string };
  expect(heard.ended().toSorted((a, b) => (a.protocol < b.protocol ? -1 : 1))).toEqual([
    {
      ...common,
      protocol: "page",
      by: expect.stringMatching(/^[0-9a-f]{12}$/),
      from_seq: 4,
      seq: 5,
      known_seq: 7,
      finished: false,
    },
    { ...common, protocol: "snapshot", by: "ann", from_seq: 1, seq: 7 },
    { ...common, protocol: "sse", by: "ann", from_seq: 3, seq: 7, known_seq: 7, finished: true },
  ]);
  expect(JSON.stringify(heard.marks)).not.toContain("127.0.0.1");
});

test("a call that joins with an Idempotency-Key is recorded as a reader, and one that creates is not", async () => {
  await using platform = await openPlatform();
  const create = { headers: { "idempotency-key": "k" } };
  const { ref, worker } = await createGeneration(platform, create);
  const heard = listenToMarks(platform, ref);
  await append(worker, started(), delta("a"), completed());
  const body = { model: "sim", input: "hello" };
  await call(`${platform.node.url}/v1/generations`, { ...create, body });
  const stream = { "idempotency-key": "k", accept: "text/event-stream" };
  await call(`${platform.node.url}/v1/generations`, { headers: stream, body });
  await expect
    .poll(() =>
      heard
        .ended()
        .map(({ protocol, seq }) => `${protocol} to ${seq}`)
        .toSorted(),
    )
    .toEqual(["snapshot to 3", "sse to 3"]);
});

test.each([
  ["moderation of its own", moderatedBody({ mode: "retract" })],
  ["none, and is judged by other rules", REQUEST],
])("where a reader was when text was withdrawn is recorded: a log with %s", async (_what, body) => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform, { body });
  const heard = listenToMarks(platform, ref);
  await append(worker, started(), delta("a"), delta("b"));
  await decide(platform, ref, redacted(2));
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  while (reader.frames.length < 4) await reader.nextFrame();
  await decide(platform, ref, redacted(3));
  while (reader.frames.length < 5) await reader.nextFrame();
  reader.cut();
  await expect
    .poll(() => heard.ended())
    .toMatchObject([{ from_seq: 1, seq: 5, known_seq: 4, finished: false, withdrawn: [[5, 4]] }]);
});

test("a reader that takes nothing has what its connection has taken, and no more", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  const heard = listenToMarks(platform, ref);
  await using slow = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  slow.pause();
  await append(
    worker,
    started(),
    ...Array.from({ length: 400 }, () => delta("x".repeat(30_000))),
    completed(),
  );
  slow.cut();
  await expect.poll(() => heard.ended()).toHaveLength(1);
  expect(heard.ended()[0]!.seq).toBeLessThan(400);
});

test("a node that closes has recorded what its readers were handed before it is gone", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  const heard = listenToMarks(platform, ref);
  await append(worker, started(), ...deltas(5));
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  while (reader.frames.length < 6) await reader.nextFrame();
  await platform.node.delivery.close();
  await platform.broker.main.flush();
  expect(heard.ended()).toMatchObject([{ from_seq: 1, seq: 6 }]);
});

test("an erased generation is broken off at every node, and no call gets it from memory", async () => {
  await using platform = await openPlatform();
  const other = await platform.addNode();
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("secret"));
  const urls = [platform.node.url, other.url].map((url) => `${url}${path}/events`);
  const readers = await Promise.all(urls.map((url) => openSseReader(url, { headers })));
  for (const reader of readers) while (reader.frames.length < 2) await reader.nextFrame();
  const record = { kind: "erased", at: new Date().toISOString(), erasure: "era_1" } as const;
  expect(await recordOps(platform.log.publish, ref, record)).toBe(true);
  expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual(["broken", "broken"]);
  for (const { bytes } of readers) expect(bytes.toString()).toContain('"code":"generation_erased"');
  const metrics = async () => (await call(`${platform.node.opsUrl}/metrics`)).text;
  await expect.poll(metrics).toContain("\nreprise_hub_generations 0\n");
});

const mark = (of: Partial<DeliveryMark>) => expect.objectContaining(of) as DeliveryMark;
const anyMs = expect.any(Number) as number;

test("how the first output came to a stream, and the times between what it was written later, are in its last mark", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  const heard = listenToMarks(platform, ref);
  await using early = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  await append(worker, started());
  for (const text of ["a", "b", "c"]) {
    await append(worker, delta(text));
    const shown = { a: 2, b: 3, c: 4 }[text] ?? 0;
    while (early.frames.length < shown) await early.nextFrame();
  }
  await using late = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  while (late.frames.length < 4) await late.nextFrame();
  await append(worker, completed());
  for (const reader of [early, late]) await reader.ended;
  await expect.poll(() => heard.ended()).toHaveLength(2);
  const [first, second] = heard.ended().toSorted((a, b) => (a.known_seq ?? 0) - (b.known_seq ?? 0));
  expect(first).toEqual(mark({ first_output: { received_ms: anyMs, shown_ms: anyMs, sent_ms: anyMs } }));
  const { received_ms: received = -1, shown_ms: shown = -1, sent_ms: sent = -1 } = first?.first_output ?? {};
  expect([received >= 0, shown >= received, sent >= shown]).toEqual([true, true, true]);
  // After the first: two deltas and the end at most; what comes at once is one write.
  const gaps = decodeSketch(fromBase64(first?.gaps ?? "")).count;
  expect(gaps).toBeGreaterThanOrEqual(2);
  expect(gaps).toBeLessThanOrEqual(4);
  expect(second).not.toHaveProperty("first_output");
  expect(second).not.toHaveProperty("gaps");
});

test("a reader that moderation has kept waiting was handed the first output when that could be shown", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  const heard = listenToMarks(platform, ref);
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  await append(worker, started(), delta("a"));
  await judge(platform, ref, 2);
  while (reader.frames.length < 2) await reader.nextFrame();
  reader.cut();
  await expect.poll(() => heard.ended()).toHaveLength(1);
  const { shown_ms: shown = 0, sent_ms: sent = 0 } = heard.ended()[0]?.first_output ?? {};
  expect(sent).toBeGreaterThanOrEqual(shown);
  expect(shown).toBeGreaterThan(0);
});
