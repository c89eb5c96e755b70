import { randomUUID } from "node:crypto";
import { parseTenantId, STREAM_START } from "@reprise/protocol";
import { openWorldToRollBack } from "@reprise/stream/testing";
import { expect, test } from "vitest";
import { decideAppend } from "./next-record.ts";
import { StreamFeeds } from "./stream-feeds.ts";
import { StreamLogs } from "./stream-logs.ts";
import type { Producer } from "./stream-record.ts";

const type = "text/plain";

test("a node whose broker has lost records neither appends after them nor tells readers of them", async () => {
  await using world = await openWorldToRollBack();
  const [one, two] = Array.from({ length: 2 }, () => new StreamLogs({ ...world, now: () => 0 })) as [
    StreamLogs,
    StreamLogs,
  ];
  const stream = { tenant: parseTenantId("acme"), name: randomUUID() };
  const append = (logs: StreamLogs, text: string, producer?: Producer) =>
    logs.change(stream, (head, nowMs) =>
      decideAppend(head, { type, data: Buffer.from(text), closes: false, producer }, nowMs),
    );
  await one.create(stream, { config: { type }, data: Buffer.from("a"), isClosed: false });
  await world.server.snapshotStore();
  await append(one, "lost", { id: "p", epoch: 0, seq: 0 });
  const lost = await append(one, "lost", { id: "p", epoch: 0, seq: 1 });
  const feeds = new StreamFeeds({ broker: world.broker, onError: (error) => void world.errors.push(error) });
  using reader = feeds.open(stream);
  await reader.ready;
  if (lost.kind === "stored") reader.saw(lost.head);
  await world.server.restoreStore();
  await append(two, "b");
  const head = (await two.readHead(stream))!;
  reader.saw(head);
  expect(await reader.waitAfter(head.at, { ms: 0, signal: new AbortController().signal })).toBeUndefined();
  // The place of the last record that was lost.
  expect(await append(two, "c")).toMatchObject({ head: { at: (lost as { head: typeof head }).head.at } });
  expect(await append(one, "d", { id: "p", epoch: 0, seq: 2 })).toMatchObject({
    error: { code: "output_gap" },
  });
  const now = (await one.readHead(stream))!;
  const pieces = await one.read(stream, now, STREAM_START);
  expect(pieces.map(({ data }) => Buffer.from(data).toString())).toEqual(["a", "b", "c"]);
});
