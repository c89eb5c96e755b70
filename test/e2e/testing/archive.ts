import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type Archive,
  ArchiveReader,
  createFileStore,
  openArchive,
  openKeyring,
  parseMasterKey,
} from "@reprise/archive";
import { readStreamInfo } from "@reprise/log";
import {
  type DeliveryMark,
  generationsStream,
  type GenerationRef,
  OPS_STREAM,
  parseGenerationId,
  parseTenantId,
  SSE_HEARTBEAT,
  VERDICTS_STREAM,
} from "@reprise/protocol";
import { expect } from "vitest";
import { bundleProgram, type SseReader, untilAnswered } from "@reprise/testkit";
import type { Cluster } from "./cluster.ts";
import { TENANT } from "./moderated.ts";

const STREAMS = [generationsStream(0), generationsStream(1), VERDICTS_STREAM, OPS_STREAM];

const run = promisify(execFile);

/** Runs `reprise-audit` on a cluster's archive. @throws Error unless it ends with 0 */
export async function reprise(cluster: Cluster, ...args: string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], REPRISE_DATA_DIR: cluster.dataDir };
  const command = ["--enable-source-maps", await bundleProgram("services/audit-log/src/cli/main.ts")];
  const options = { env, maxBuffer: 64 * 1_024 * 1_024 };
  const { stdout } = await run(process.execPath, [...command, ...args], options);
  return stdout;
}

export interface OpenedArchive {
  readonly archive: Archive;
  readonly reader: ArchiveReader;
}

/** Opens a cluster's archive past all services, when it holds all that its streams hold now. */
export async function untilArchived(cluster: Cluster): Promise<OpenedArchive> {
  const { broker, dataDir } = cluster;
  const ends = await Promise.all(
    STREAMS.map(
      async (stream) =>
        [stream, (await untilAnswered(() => readStreamInfo(broker.reads, stream))).lastStreamSeq] as const,
    ),
  );
  const archive = await openArchive({ store: createFileStore(join(dataDir, "audit")), name: "reprise" });
  const behind = async () => {
    await archive.refresh();
    return ends.filter(([stream, last]) => (archive.state.lanes.get(stream)?.last ?? 0) < last);
  };
  await expect.poll(behind).toEqual([]);
  const keysDir = join(dataDir, "audit-keys");
  const masterKey = parseMasterKey(await readFile(join(keysDir, "master.key"), "utf8"));
  const keyring = await openKeyring({ store: createFileStore(join(keysDir, "wrapped")), masterKey });
  return { archive, reader: new ArchiveReader({ archive, keyring }) };
}

/** Resolves with the last marks of a generation's streams, when so many have ended and are archived: those that had least come first. */
export async function untilReadersAreKept(
  cluster: Cluster,
  id: string,
  count: number,
): Promise<readonly DeliveryMark[]> {
  const marks = new Map<string, DeliveryMark>();
  const ended = async () => {
    const { reader } = await untilArchived(cluster);
    for await (const record of reader.opsOf(refOf(TENANT, id)))
      if (record.kind === "delivered")
        for (const mark of record.readers) if (mark.protocol === "sse") marks.set(mark.reader, mark);
    return [...marks.values()].filter(({ ended_at }) => ended_at !== undefined).length;
  };
  await expect.poll(ended).toBe(count);
  return [...marks.values()].toSorted((a, b) => a.seq - b.seq);
}

/** What a connection got, byte by byte, without what keeps it open. */
export function bytesOf({ bytes }: SseReader): string {
  return bytes.toString().replaceAll(SSE_HEARTBEAT, "");
}

/** How many processes have committed anything to a cluster's archive. */
export async function countWriters({ dataDir }: Cluster): Promise<number> {
  const archive = await openArchive({ store: createFileStore(join(dataDir, "audit")), name: "reprise" });
  await archive.refresh();
  return new Set(await Array.fromAsync(archive.commits(), ({ commit }) => commit.writer)).size;
}

/** Checks that the archive has each event of these generations once, as the log has it, and nothing else of logs. */
export async function expectExactlyOnce(
  cluster: Cluster,
  { archive, reader }: OpenedArchive,
  generations: readonly { readonly tenant: string; readonly id: string }[],
): Promise<void> {
  let events = 0;
  for (const { tenant, id } of generations) {
    const ref = refOf(tenant, id);
    const segments = await reader.segmentsOf(ref, ["log"]);
    const archived = (await Array.fromAsync(reader.events(ref))).map(({ payload }) => textOf(payload));
    expect(archived).toEqual(await cluster.readLog(tenant, id));
    const sealed = segments.reduce((sum, { header }) => sum + header.events, 0);
    expect(sealed).toBe(archived.length);
    events += sealed;
  }
  const lanes = await Array.fromAsync(archive.commits(), ({ commit }) => commit.lane);
  const logs = lanes.filter((lane) => lane?.stream.startsWith("GENERATIONS_"));
  expect(logs.reduce((sum, lane) => sum + lane!.events, 0)).toBe(events);
  expect(lanes.flatMap((lane) => lane?.gaps ?? [])).toEqual([]);
}

export function refOf(tenant: string, id: string): GenerationRef {
  return { tenant: parseTenantId(tenant), generation: parseGenerationId(id) };
}

function textOf(payload: Uint8Array): string {
  return Buffer.from(payload).toString();
}
