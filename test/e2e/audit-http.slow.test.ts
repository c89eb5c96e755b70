import { readStreamMessages } from "@reprise/broker";
import { createClient } from "@reprise/client";
import {
  type AuditRecord,
  decodeOpsRecord,
  type DeliveryMark,
  type GenerationRef,
  logSubject,
  OPS_STREAM,
  parseGenerationId,
  parseTenantId,
  SSE_HEARTBEAT,
  STREAM_START,
  streamOf,
} from "@reprise/protocol";
import { openSseReader, PATIENCE_MS, type SseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { reprise, untilArchived } from "./testing/archive.ts";
import { type Cluster, startCluster } from "./testing/cluster.ts";
import { CARD, saying, TENANT, untilJudged } from "./testing/moderated.ts";

const OTHER = "beta";
const SAID = ["You may pay with ", "4111", " 1111 ", "1111 1", "111", ", she said."];
const REPLAY = { call: "replay", query: { after: "0-0", original: "true" } };

const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

/** Resolves with the last marks of a generation's two streams once both are archived, by seq. */
async function untilReadersAreKept(cluster: Cluster, ref: GenerationRef): Promise<readonly DeliveryMark[]> {
  const marks = new Map<string, DeliveryMark>();
  const ended = async () => {
    const reader = await untilArchived(cluster);
    for await (const record of reader.opsOf(ref))
      if (record.kind === "delivered")
        for (const mark of record.readers) if (mark.protocol === "sse") marks.set(mark.reader, mark);
    return [...marks.values()].filter(({ ended_at }) => ended_at !== undefined).length;
  };
  await expect.poll(ended).toBe(2);
  return [...marks.values()].toSorted((a, b) => a.seq - b.seq);
}

/** The bytes that a connection got, without heartbeats. */
function bytesOf({ bytes }: SseReader): string {
  return bytes.toString().replaceAll(SSE_HEARTBEAT, "");
}

/** Removes a log's events, as their expiry does. */
async function expire({ broker }: Cluster, ref: GenerationRef): Promise<void> {
  const subject = `$JS.API.STREAM.PURGE.${streamOf(ref.generation)}`;
  const filter = JSON.stringify({ filter: logSubject(ref) });
  const answer = await broker.main.request(subject, filter, { timeout: PATIENCE_MS });
  expect(answer.json()).toMatchObject({ success: true });
}

test("an expired generation is listed, replayed and shown as it was to keys with the role audit, and each access is recorded", async () => {
  await using cluster = await startCluster({ tenants: [TENANT, OTHER] });
  const [first, auditLog] = await Promise.all([
    cluster.startDelivery(),
    cluster.startAuditLog(),
    cluster.startModeration(),
    cluster.startWorker(),
  ]);
  const { generations } = createClient({ url: first.url, apiKey: cluster.keys[TENANT]! });
  const request = { ...saying(SAID, { mode: "retract", rules: ["cards"] }), metadata: { order: "7" } };
  const { id } = await generations.create(request);
  const ref = { tenant: parseTenantId(TENANT), generation: parseGenerationId(id) };
  const path = `/v1/generations/${id}`;
  const read = async (url: string, key: string | undefined, query = "") => {
    await using reader = await openSseReader(`${url}${path}/events${query}`, { headers: bearer(key) });
    expect(await reader.ended).toBe("clean");
    return reader;
  };
  const live = await read(first.url, cluster.keys[TENANT]);
  await untilJudged(cluster, id);
  const late = await read(first.url, cluster.keys[TENANT]);
  expect(bytesOf(late)).not.toContain("4111");
  const marks = await untilReadersAreKept(cluster, ref);
  await expire(cluster, ref);

  // A new node has nothing of the generation in memory.
  const { url } = await cluster.startDelivery();
  const ask = async (at: string, key = cluster.auditKeys[TENANT]) => {
    const response = await fetch(url + at, { headers: { ...bearer(key), accept: "application/json" } });
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, json, code: (json["error"] as { code: string } | undefined)?.code };
  };
  const replay = (query = "") => read(url, cluster.auditKeys[TENANT], query);
  const list = "/v1/audit/generations";
  const entry = { id, object: "audit.generation", status: "completed", model: "sim" };
  expect((await ask(`${list}?metadata[order]=7&model=sim&status=completed`)).json).toMatchObject({
    data: [entry],
  });
  expect((await ask(`${list}?metadata[order]=8`)).json).toMatchObject({ data: [] });
  const { json } = await ask(`${list}/${id}`);
  expect(json).toMatchObject({ ...entry, verdict: expect.anything() });
  const readers = json["readers"] as DeliveryMark[];
  expect(readers.toSorted((a, b) => a.seq - b.seq)).toEqual(marks);

  expect((await replay()).bytes.toString()).toBe(late.bytes.toString());
  const half = Math.floor(late.frames.length / 2);
  const rest = await replay(`?after=${late.frames[half - 1]!.id}`);
  expect(rest.frames).toEqual(late.frames.slice(half));
  const original = (await replay("?original=true")).frames.map(({ data }) => JSON.parse(data) as object);
  expect(original.map((event) => ("text" in event ? event.text : "")).join("")).toContain(CARD);

  const batch = {
    afterStreamSeq: STREAM_START,
    maxMessages: 1_000,
    maxBytes: 1_000_000,
    subject: "ops.*.access.*",
  };
  const records = await readStreamMessages(cluster.broker.reads, OPS_STREAM, batch);
  expect(records.map(({ payload }) => decodeOpsRecord(payload))).toContainEqual(
    expect.objectContaining(REPLAY),
  );
  const archived = async () => ((await ask(`${list}/${id}`)).json as unknown as AuditRecord).accesses;
  await expect.poll(archived).toContainEqual(expect.objectContaining(REPLAY));

  expect(await ask(`${path}/events`, cluster.keys[TENANT])).toMatchObject({
    status: 410,
    code: "generation_expired",
  });
  for (const at of [`${path}/events`, `${path}/events?original=true`, `${list}/${id}`])
    expect(await ask(at, cluster.auditKeys[OTHER])).toMatchObject({
      status: 404,
      code: "generation_not_found",
    });
  expect((await ask(list, cluster.auditKeys[OTHER])).json).toMatchObject({ data: [] });

  auditLog.kill("SIGKILL");
  await auditLog.exited;
  for (const at of [`${path}/events`, list])
    expect(await ask(at)).toMatchObject({ status: 503, code: "audit_unavailable" });
  await cluster.startAuditLog();
  await expect.poll(async () => (await ask(list)).status).toBe(200);
  expect((await replay()).bytes.toString()).toBe(late.bytes.toString());

  const shown = await Promise.all(
    marks.map(({ reader }) =>
      reprise(cluster, "replay", "--generation", id, "--as-shown-to", reader, "--format", "sse"),
    ),
  );
  expect(shown.toSorted()).toEqual([bytesOf(live), bytesOf(late)].toSorted());
});
