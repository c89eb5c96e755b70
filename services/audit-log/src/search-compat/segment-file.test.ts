import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import {
  commitmentOf,
  compareSegments,
  type DataKey,
  encodeSegmentFile,
  encodeSegmentHeader,
  mergeSegmentFiles,
  sealSegment,
  type Segment,
  type SegmentDraft,
} from "@reprise/archive";
import { encodeEvent, asSeq, asStreamSeq } from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";

const STARTED_AT_US = 1_795_000_000_123_456;
const GENERATIONS = 60;
const SEGMENTS = 20;
const EVENTS = 5;

const key: DataKey = { kid: "kid_1", key: new Uint8Array(32), commitment: commitmentOf(new Uint8Array(32)) };

/** The segment `index` of a generation: its model is in the first, its end in the last. */
function segmentOf(generation: string, index: number): Segment {
  const firstSeq = index * EVENTS;
  const messages = Array.from({ length: EVENTS }, (_, i) => ({
    streamSeq: asStreamSeq(1 + firstSeq + i),
    storedAtUs: STARTED_AT_US + (firstSeq + i) * 1_000,
    payload: encodeEvent(asSeq(firstSeq + i), { type: "output.delta", text: "x".repeat(i) }),
  }));
  const draft: SegmentDraft = {
    v: 1,
    tenant: "acme",
    generation,
    kind: "log",
    stream: "GENERATIONS_0",
    epoch: 0,
    first_stream_seq: asStreamSeq(1 + firstSeq),
    last_stream_seq: asStreamSeq(firstSeq + EVENTS),
    events: EVENTS,
    first_seq: asSeq(firstSeq),
    last_seq: asSeq(firstSeq + EVENTS - 1),
    first_at: STARTED_AT_US + firstSeq * 1_000,
    last_at: STARTED_AT_US + (firstSeq + EVENTS - 1) * 1_000,
    ...(index === 0 && { model: "größer/模型", tags: ["0123456789abcdef", "fedcba9876543210"] }),
    ...(index === SEGMENTS - 1 && { status: "completed", output_tokens: EVENTS * SEGMENTS }),
  };
  return sealSegment(draft, messages, key, (size) => randomBytes(size));
}

const segments = Array.from({ length: GENERATIONS }, (_, i) => `gen_0_${i}`)
  .flatMap((generation) => Array.from({ length: SEGMENTS }, (_, index) => segmentOf(generation, index)))
  .toSorted(compareSegments);

/** DuckDB's answer about a file of these bytes, which it calls `segments`. */
async function ask(bytes: Uint8Array, query: string): Promise<unknown[]> {
  await using dir = await createTempDir();
  const path = join(dir.path, "segments.parquet");
  await writeFile(path, bytes);
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE VIEW segments AS SELECT * FROM read_parquet('${path}')`);
    return (await connection.runAndReadAll(query)).getRowObjectsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

describe("DuckDB, which shares no code with the writer,", () => {
  test("reads as many segments, events and generations as were written", async () => {
    const [sums] = await ask(
      encodeSegmentFile(segments),
      `SELECT count(*) AS rows, sum(events)::BIGINT AS events, count(DISTINCT generation) AS generations, count(model) AS models,
        sum(output_tokens)::BIGINT AS tokens, epoch_us(min(first_at)) AS first_at, epoch_us(max(last_at)) AS last_at FROM segments`,
    );
    expect(sums).toEqual({
      rows: BigInt(GENERATIONS * SEGMENTS),
      events: BigInt(GENERATIONS * SEGMENTS * EVENTS),
      generations: BigInt(GENERATIONS),
      models: BigInt(GENERATIONS),
      tokens: BigInt(GENERATIONS * SEGMENTS * EVENTS),
      first_at: BigInt(STARTED_AT_US),
      last_at: BigInt(STARTED_AT_US + (SEGMENTS * EVENTS - 1) * 1_000),
    });
  });

  test("reads headers and sealed parts byte by byte, of a merged file too", async () => {
    const files = [0, 1, 2].map((part) => encodeSegmentFile(segments.filter((_, i) => i % 3 === part)));
    const [merged] = await mergeSegmentFiles(files, { maxBytes: 100_000_000 });
    const written = segments.map(({ header, sealed }) => ({
      header: Buffer.from(encodeSegmentHeader(header)).toString(),
      sealed: Buffer.from(sealed).toString("hex"),
    }));
    for (const bytes of [encodeSegmentFile(segments), merged?.bytes ?? new Uint8Array()])
      expect(await ask(bytes, "SELECT header, lower(hex(sealed)) AS sealed FROM segments")).toEqual(written);
  });

  test("reads in every column what the header says", async () => {
    const [differing] = await ask(
      encodeSegmentFile(segments),
      `SELECT count(*) AS rows FROM segments WHERE
        (header->>'generation', header->>'kind', header->>'stream', header->>'model', header->>'status')
          IS DISTINCT FROM (generation, kind, stream, model, status)
        OR ((header->>'epoch')::BIGINT, (header->>'first_seq')::BIGINT, (header->>'last_seq')::BIGINT, (header->>'events')::BIGINT)
          IS DISTINCT FROM (epoch, first_seq, last_seq, events)
        OR ((header->>'first_at')::BIGINT, (header->>'last_at')::BIGINT, (header->>'output_tokens')::BIGINT)
          IS DISTINCT FROM (epoch_us(first_at), epoch_us(last_at), output_tokens)
        OR array_to_string((header->'tags')::VARCHAR[], ',') IS DISTINCT FROM tags`,
    );
    expect(differing).toEqual({ rows: 0n });
  });
});
