import { join } from "node:path";
import { createFileStore, openArchive, readSegmentFile } from "@reprise/archive";
import { createTempDir } from "@reprise/testkit";
import { type Samples, summarize } from "../../measure/samples.ts";
import { startReprise } from "../../targets/reprise/target.ts";
import { alternatingRounds } from "../alternating-rounds.ts";
import { measureStream, type StreamMeasurement, type StreamShape } from "../measure-stream.ts";
import type { RunContext } from "../run-context.ts";
import { startRun } from "../start-run.ts";

/** What has become of the events of a run in the archive. */
export interface ArchivedRun {
  /** From an event's time in the broker to that of the commit that names it. */
  readonly lagMs: Samples;
  readonly events: number;
  /** Of data files and commits, for each event. */
  readonly bytesPerEvent: number;
}

export interface AuditRow extends StreamMeasurement {
  readonly audit: boolean;
  readonly archived: ArchivedRun | undefined;
}

export interface AuditResult {
  readonly scenario: "AUDIT";
  readonly shape: StreamShape;
  /** Without the audit log and with it, the best round each, the one with the lowest p99, as in S1. */
  readonly rows: readonly AuditRow[];
  readonly rounds: readonly (readonly AuditRow[])[];
}

const VARIANTS = [false, true] as const;

/** AUDIT: S1's load, without the audit log and with it as a process beside it, in turn. Reprise only. */
export async function runAudit(context: RunContext): Promise<AuditResult> {
  const { quick, say } = context;
  const shape = {
    streams: 100,
    tokensPerSecond: 50,
    readersPerStream: 1,
    warmUpSeconds: quick ? 1 : 3,
    seconds: quick ? 4 : 15,
  };
  const measured = await alternatingRounds(VARIANTS, quick ? 1 : 3, (audit, round) => {
    say(`AUDIT ${audit ? "on" : "off"}, round ${round}`);
    return runOne(audit, shape, context);
  });
  return { scenario: "AUDIT", shape, ...measured };
}

async function runOne(
  audit: boolean,
  shape: StreamShape,
  { settings, signal }: RunContext,
): Promise<AuditRow> {
  await using dir = await createTempDir("bench-audit");
  const measured = await measureWith(audit ? dir.path : undefined, shape, { settings, signal });
  // What it has read by then it archives before it ends.
  return { ...measured, audit, archived: audit ? await readArchived(dir.path) : undefined };
}

async function measureWith(
  auditDir: string | undefined,
  shape: StreamShape,
  { settings, signal }: Pick<RunContext, "settings" | "signal">,
): Promise<StreamMeasurement> {
  await using run = await startRun(signal, () => startReprise(settings, { auditDir }));
  const { load, target } = run;
  const specs = await target.openStreams(shape.streams);
  return await measureStream(target, load, shape, signal, specs);
}

/** The events of a segment are taken to be evenly spaced: the load is. */
async function readArchived(dataDir: string): Promise<ArchivedRun> {
  const store = createFileStore(join(dataDir, "audit"));
  const archive = await openArchive({ store, name: "reprise" });
  const lags: number[] = [];
  let bytes = 0;
  for await (const { commit, bytes: text } of archive.commits()) {
    bytes += text.length;
    for (const file of commit.tenants.flatMap(({ files }) => files)) {
      bytes += file.bytes;
      for (const { header } of await readSegmentFile((await store.get(file.key))!)) {
        if (header.kind !== "log") continue;
        const { events, first_at: first, last_at: last } = header;
        for (let i = 0; i < events; i++) {
          const atUs = first + ((last - first) * i) / Math.max(1, events - 1);
          lags.push(Date.parse(commit.at) - atUs / 1_000);
        }
      }
    }
  }
  return { lagMs: summarize(lags), events: lags.length, bytesPerEvent: bytes / lags.length };
}
