import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ArchiveReader, createFileStore, openArchive, openKeyring, parseMasterKey } from "@reprise/archive";
import { readStreamInfo } from "@reprise/broker";
import { generationsStream, OPS_STREAM, VERDICTS_STREAM } from "@reprise/protocol";
import { expect } from "vitest";
import { bundleProgram, untilAnswered } from "@reprise/testkit";
import type { Cluster } from "./cluster.ts";

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

/** Opens a reader of a cluster's archive once the archive holds everything that the streams hold now. */
export async function untilArchived(cluster: Cluster): Promise<ArchiveReader> {
  const { broker, dataDir } = cluster;
  const ends = await Promise.all(
    STREAMS.map(
      async (stream) =>
        [stream, (await untilAnswered(() => readStreamInfo(broker.reads, stream))).lastStreamSeq] as const,
    ),
  );
  const archive = await openArchive({ store: createFileStore(join(dataDir, "audit")), name: "reprise" });
  const missing = async () => {
    await archive.refresh();
    return ends.filter(([stream, last]) => (archive.state.lanes.get(stream)?.last ?? 0) < last);
  };
  await expect.poll(missing).toEqual([]);
  const keysDir = join(dataDir, "audit-keys");
  const masterKey = parseMasterKey(await readFile(join(keysDir, "master.key"), "utf8"));
  const keyring = await openKeyring({ store: createFileStore(join(keysDir, "wrapped")), masterKey });
  return new ArchiveReader({ archive, keyring });
}
