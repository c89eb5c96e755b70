import { parseNodeId, READERS_STREAM, readerSubject, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { readQueueEnd } from "../queue/open-jobs.ts";
import { decodePresenceRecord, publishPresence, readPresence } from "./presence-records.ts";
import { getStreamInfo } from "@reprise/broker";
import { newRef, openWorld } from "@reprise/stream/testing";

const NODES = [parseNodeId("node-a"), parseNodeId("node-b")] as const;

test("reads each node's last presence record of a generation, with the broker's time, and no other generation's", async () => {
  await using world = await openWorld();
  const { publish } = world.log;
  const { main } = world.broker;
  const [ref, other] = [newRef(), newRef()];
  const [a, b] = NODES;
  const { brokerTimeMs: before } = await readQueueEnd(main);
  await publishPresence(publish, { ref, node: a }, { readers: 1, seq: asSeq(0) });
  await publishPresence(
    publish,
    { ref, node: a },
    { readers: 2, seq: asSeq(7), held: { fromSeq: asSeq(8), toSeq: asSeq(9) } },
  );
  await publishPresence(publish, { ref, node: b }, { readers: 0, seq: asSeq(3) });
  await publishPresence(publish, { ref: other, node: b }, { readers: 9, seq: asSeq(9) });
  const { records, brokerTimeMs } = await readPresence(main, ref);
  expect(records.toSorted((x, y) => x.seq - y.seq)).toEqual([
    { node: b, readers: 0, seq: 3, atMs: expect.any(Number) as number },
    {
      node: a,
      readers: 2,
      seq: 7,
      held: { fromSeq: 8, toSeq: 9 },
      atMs: expect.any(Number) as number,
    },
  ]);
  for (const { atMs } of records) {
    expect(atMs).toBeGreaterThanOrEqual(before);
    expect(atMs).toBeLessThanOrEqual(brokerTimeMs);
  }
  const { state } = await getStreamInfo(main, READERS_STREAM);
  expect(state.messages).toBe(3);
});

test("a generation without readers has no records, and malformed records are skipped", async () => {
  await using world = await openWorld();
  const ref = newRef();
  expect((await readPresence(world.broker.main, ref)).records).toEqual([]);
  await world.log.publish(readerSubject(ref, NODES[0]), Buffer.from("{}"), {});
  expect((await readPresence(world.broker.main, ref)).records).toEqual([]);
});

test.each([
  "",
  "[]",
  "null",
  '{"readers":-1,"seq":0}',
  '{"readers":1}',
  '{"readers":1.5,"seq":0}',
  '{"readers":1,"seq":0,"held":7}',
  '{"readers":1,"seq":0,"held":[1,-1]}',
])("%j is no record", (text) => expect(decodePresenceRecord(Buffer.from(text))).toBeUndefined());

test("reading presence without a broker fails with broker_unavailable", async () => {
  await using world = await openWorld();
  await world.server.stop();
  const read = readPresence(world.broker.main, newRef());
  await expect(read).rejects.toMatchObject({ code: "broker_unavailable" });
  const node = { ref: newRef(), node: NODES[0] };
  expect(await publishPresence(world.log.publish, node, { readers: 1, seq: asSeq(0) })).toBe(false);
});
