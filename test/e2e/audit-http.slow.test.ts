import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readStreamMessages } from "@reprise/broker";
import {
  type AuditRecord,
  decodeOpsRecord,
  logSubject,
  OPS_STREAM,
  type DeliveryMark,
  type GenerationRef,
  parseGenerationId,
  parseTenantId,
  SSE_HEARTBEAT,
  STREAM_START,
  streamOf,
} from "@reprise/protocol";
import { createTempDir, openSseReader, PATIENCE_MS, type SseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { reprise, untilArchived } from "./testing/archive.ts";
import { type Cluster, type DeliveryProcess, startCluster } from "./testing/cluster.ts";
import { CARD, PATIENT, TENANT, untilJudged } from "./testing/moderated.ts";
import { startToldModel, type ToldModel } from "./testing/told-model.ts";

const OTHER = "beta";
const METADATA = { order: "7" };
/** Text without a finding, and what makes it a card number. */
const BEFORE = ["You may pay with ", "4111"];
const AFTER = [" 1111 ", "1111 1", "111", ", ", "she", " said", "."];

const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

/** A generation that three connections followed: all of it while it ran, its beginning, and all of it afterwards. */
async function generate(
  cluster: Cluster,
  { url, opsUrl }: Pick<DeliveryProcess, "url" | "opsUrl">,
  model: ToldModel,
) {
  const headers = bearer(cluster.keys[TENANT]);
  const moderation = { mode: "retract", rules: ["cards"], ...PATIENT };
  const request = { model: "told", input: "Say it.", policy: { moderation } };
  const created = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ ...request, metadata: METADATA }),
  });
  const { id } = (await created.json()) as { id: string };
  const open = () => openSseReader(`${url}/v1/generations/${id}/events`, { headers });
  const live = await open();
  const leaver = await open();
  await model.say(BEFORE);
  while (!leaver.bytes.includes("4111")) await leaver.nextFrame();
  leaver.cut();
  await expect.poll(() => countReaders(opsUrl)).toBe(1);
  await model.say(AFTER);
  await model.finish();
  expect(await live.ended).toBe("clean");
  await untilJudged(cluster, id);
  const late = await open();
  expect(await late.ended).toBe("clean");
  expect(bytesOf(live)).toContain("4111");
  expect(bytesOf(late)).not.toContain("4111");
  return { id, live, leaver, late };
}

async function countReaders(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^reprise_readers (\d+)$/m.exec(metrics)?.[1]);
}

/** Resolves once `count` streams of a generation have ended and are archived, with their last marks, by seq. */
async function untilReadersAreKept(
  cluster: Cluster,
  id: string,
  count: number,
): Promise<readonly DeliveryMark[]> {
  const marks = new Map<string, DeliveryMark>();
  const ended = async () => {
    const reader = await untilArchived(cluster);
    for await (const record of reader.opsOf(refOf(id)))
      if (record.kind === "delivered")
        for (const mark of record.readers) if (mark.protocol === "sse") marks.set(mark.reader, mark);
    return [...marks.values()].filter(({ ended_at }) => ended_at !== undefined).length;
  };
  await expect.poll(ended).toBe(count);
  return [...marks.values()].toSorted((a, b) => a.seq - b.seq);
}

/** The bytes that a connection got, without heartbeats. */
function bytesOf({ bytes }: SseReader): string {
  return bytes.toString().replaceAll(SSE_HEARTBEAT, "");
}

function refOf(id: string): GenerationRef {
  return { tenant: parseTenantId(TENANT), generation: parseGenerationId(id) };
}

/** What a connection got, up to its last whole frame. */
function wholeFramesOf(reader: SseReader): string {
  const bytes = bytesOf(reader);
  return bytes.slice(0, bytes.lastIndexOf("\n\n") + 2);
}

/** Calls with a key of the tenant's auditor, unless another is given. */
function auditorOf(cluster: Cluster, url: string) {
  return async (path: string, key = cluster.auditKeys[TENANT]) => {
    const response = await fetch(url + path, { headers: { ...bearer(key), accept: "application/json" } });
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, json, code: (json["error"] as { code: string } | undefined)?.code };
  };
}

async function accessesIn({ broker }: Cluster): Promise<unknown[]> {
  const batch = {
    afterStreamSeq: STREAM_START,
    maxMessages: 1_000,
    maxBytes: 1_000_000,
    subject: "ops.*.access.*",
  };
  const places = await readStreamMessages(broker.reads, OPS_STREAM, batch);
  return places.map(({ payload }) => decodeOpsRecord(payload));
}

/** Takes away a log's events and nothing else, as their age would. */
async function expire({ broker }: Cluster, id: string): Promise<void> {
  const ref = refOf(id);
  const subject = `$JS.API.STREAM.PURGE.${streamOf(ref.generation)}`;
  const answer = await broker.main.request(subject, JSON.stringify({ filter: logSubject(ref) }), {
    timeout: PATIENCE_MS,
  });
  expect(answer.json()).toMatchObject({ success: true });
}

test("what has left the live log is listed, replayed and shown as it was to keys with the role, and each access is recorded", async () => {
  await using cluster = await startCluster({ tenants: [TENANT, OTHER] });
  await using dir = await createTempDir("told");
  await using model = await startToldModel("told");
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  await writeFile(env.REPRISE_MODELS_FILE, model.modelsFile);
  const [{ url, opsUrl }, auditLog] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startAuditLog(),
    cluster.startModeration(),
    cluster.startWorker(env),
  ]);
  const { id, live, leaver, late } = await generate(cluster, { url, opsUrl }, model);
  const marks = await untilReadersAreKept(cluster, id, 3);
  await expire(cluster, id);
  // It has nothing of the generation in memory.
  const node = await cluster.startDelivery();
  const ask = auditorOf(cluster, node.url);
  const [list, path] = ["/v1/audit/generations", `/v1/generations/${id}`];

  const entry = { id, object: "audit.generation", status: "completed", model: "told" };
  expect((await ask(`${list}?metadata[order]=7&model=told&status=completed`)).json).toMatchObject({
    data: [entry],
  });
  expect((await ask(`${list}?metadata[order]=8`)).json).toMatchObject({ data: [] });
  const { json } = await ask(`${list}/${id}`);
  expect(json).toMatchObject({ ...entry, verdict: expect.anything() });
  const readers = json["readers"] as DeliveryMark[];
  expect(readers.toSorted((a, b) => a.seq - b.seq)).toEqual(marks);
  expect(marks.map(({ withdrawn }) => withdrawn !== undefined).filter(Boolean)).toHaveLength(1);

  const replay = async (query: string) => {
    const headers = bearer(cluster.auditKeys[TENANT]);
    await using reader = await openSseReader(`${node.url}${path}/events${query}`, { headers });
    expect(await reader.ended).toBe("clean");
    return reader;
  };
  expect((await replay("")).bytes.toString()).toBe(late.bytes.toString());
  const half = Math.floor(late.frames.length / 2);
  const rest = await replay(`?after=${late.frames[half - 1]!.id}`);
  expect(rest.frames).toEqual(late.frames.slice(half));
  const original = (await replay("?original=true")).frames.map(({ data }) => JSON.parse(data) as object);
  expect(original.map((event) => ("text" in event ? event.text : "")).join("")).toContain(CARD);

  const looks = await accessesIn(cluster);
  expect(looks).toContainEqual(
    expect.objectContaining({ call: "replay", query: { after: "0-0", original: "true" } }),
  );
  const archived = async () => ((await ask(`${list}/${id}`)).json as unknown as AuditRecord).accesses;
  await expect
    .poll(archived)
    .toContainEqual(expect.objectContaining({ call: "replay", query: { after: "0-0", original: "true" } }));

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
  expect((await replay("")).bytes.toString()).toBe(late.bytes.toString());

  const shownTo = ({ reader }: DeliveryMark) =>
    reprise(cluster, "replay", "--generation", id, "--as-shown-to", reader, "--format", "sse");
  const [ofLeaver, ...others] = marks;
  const ofLive = others.find(({ withdrawn }) => withdrawn !== undefined)!;
  const ofLate = others.find(({ withdrawn }) => withdrawn === undefined)!;
  expect(await shownTo(ofLive)).toBe(bytesOf(live));
  expect(await shownTo(ofLate)).toBe(bytesOf(late));
  // What was on its way when it hung up, it was handed all the same.
  const handed = await shownTo(ofLeaver!);
  expect(handed.startsWith(wholeFramesOf(leaver))).toBe(true);
  expect(bytesOf(live).startsWith(handed)).toBe(true);
  expect(handed.length).toBeLessThan(bytesOf(live).length);
});
