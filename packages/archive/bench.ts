/**
 * Measures the cost of archiving apart from the broker and the disk: the events that one core seals and opens in a second, the bytes
 * of an event, and the time for one generation of a large file. Logs of 50 tokens a second, cut from this project's own documents.
 * Run by `node packages/archive/bench.ts`; the best of three runs is printed.
 */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type ArchivedMessage,
  compareSegments,
  encodeSegmentFile,
  leafHashOf,
  mergeSegmentFiles,
  openSegment,
  openSegmentFile,
  readSegmentFile,
  type Segment,
} from "./src/index.ts";
import { createLog } from "./src/testing/events.ts";
import { sealLog, testKey } from "./src/testing/segments.ts";

const RUNS = 3;
const READS = 100;
const GENERATIONS = 1_000;
const EVENTS = 1_000;
/** In a commit a segment has a leaf of 32 bytes and, at most, a fingerprint of 4, both in base64. */
const COMMIT_BYTES = 48;

const root = fileURLToPath(new URL("../..", import.meta.url));
const prose = globSync("{*.md,docs/**/*.md}", { cwd: root })
  .map((path) => readFileSync(`${root}/${path}`, "utf8"))
  .join("\n");
const logs = new Map<string, ArchivedMessage[]>();
for (let at = 0; at < GENERATIONS; at++) {
  const generation = `gen_0_${testKey(`id ${at}`).commitment.slice(0, 26)}`;
  logs.set(generation, createLog({ generation, events: EVENTS, seed: at, prose, streamStride: 200 }));
}
const events = GENERATIONS * EVENTS;
print(`${events} events of ${GENERATIONS} generations, in segments of`);
for (const size of [50, 250, EVENTS]) await measure(size);

async function measure(size: number): Promise<void> {
  const seal = (): Segment[] =>
    [...logs].flatMap(([generation, log]) => sealLog(log, { generation, size })).toSorted(compareSegments);
  const segments = seal();
  const file = encodeSegmentFile(segments);
  const open = (): void => {
    for (const segment of segments) openSegment(segment, testKey(segment.header.generation));
  };
  print(
    `${size}: ${perEvent(file.length + segments.length * COMMIT_BYTES)} bytes an event; ` +
      `${await rate(() => encodeSegmentFile(seal()))} k/s sealed and written, ` +
      `${await rate(async () => (await readSegmentFile(file)).map(leafHashOf))} k/s read and hashed, ` +
      `${await rate(open)} k/s opened, ${await rate(() => mergeSegmentFiles([file], { maxBytes: 67_108_864 }))} k/s compacted`,
  );
  const times: number[] = [];
  let bytesRead = 0;
  for (const generation of [...logs.keys()].slice(0, READS)) {
    const began = performance.now();
    const opened = await openSegmentFile(async ({ offset, length }) => {
      bytesRead += length;
      return file.subarray(offset, offset + length);
    }, file.length);
    for (const segment of await opened.segmentsOf(generation)) openSegment(segment, testKey(generation));
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const p50 = times[READS / 2]?.toFixed(2);
  print(
    `   one generation of a file of ${(file.length / 1e6).toFixed(1)} MB: p50 ${p50} ms, max ${times.at(-1)?.toFixed(2)} ms, ${Math.round(bytesRead / READS / 1_000)} kB read`,
  );
}

/** Thousands of events a second of one core's time. */
async function rate(run: () => unknown): Promise<number> {
  let best = 0;
  for (let at = 0; at < RUNS; at++) {
    const began = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(began);
    best = Math.max(best, (events / (user + system)) * 1_000);
  }
  return Math.round(best);
}

function perEvent(bytes: number): string {
  return (bytes / events).toFixed(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
