import { join } from "node:path";
import { createFileStore, openArchive, readSegmentFile } from "@reprise/archive";
import { createTempDir } from "@reprise/testkit";
import { summarize } from "../measure/samples.ts";
import { startReprise } from "../targets/reprise/target.ts";
import { describeShape, measureStream, s1Shape } from "./measure-stream.ts";
import { bestOfRounds, type RunContext, type ScenarioResult, startRun } from "./run.ts";

/** AUDIT: S1's load without the audit log, and with it as a process beside it, in turn. Reprise only. */
export async function runAudit(context: RunContext): Promise<ScenarioResult> {
  const { quick, say, settings, signal } = context;
  const shape = s1Shape(context, 3, 15);
  const measured = await bestOfRounds([false, true], quick ? 1 : 3, async (audit, round) => {
    say(`AUDIT ${audit ? "on" : "off"}, round ${round}`);
    await using dir = await createTempDir("bench-audit");
    const measure = async () => {
      const auditDir = audit ? dir.path : undefined;
      await using run = await startRun(signal, () => startReprise(settings, { auditDir }));
      return await measureStream(run.target, run.load, shape, signal);
    };
    const measurement = await measure();
    // The audit log has archived everything that it had read before it ended.
    return { audit, ...measurement, ...(audit && (await readArchived(dir.path))) };
  });
  return { scenario: "AUDIT", what: describeShape(shape), ...measured };
}

/** Reads the times from events to their commits, as if a segment's events were evenly spaced, and the size of files and commits. */
async function readArchived(dataDir: string): Promise<object> {
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
  return { archiveLagMs: summarize(lags), archivedBytesPerEvent: bytes / lags.length };
}
