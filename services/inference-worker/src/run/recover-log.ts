import type { RemainingLog } from "@reprise/log";
import type { WorkerId } from "@reprise/protocol";
import { createNonce } from "./attempt-nonce.ts";
import { planRecovery } from "../domain/plan-recovery.ts";
import { RunLog, type RunLogOptions } from "./run-log.ts";

/**
 * Appends what the broker has lost and this worker still holds. Nothing is put back where another process has gone on behind the
 * loss: its events stand.
 * @param held the log as this worker has seen it stored
 */
export async function recoverLog(
  options: Omit<RunLogOptions, "snapshot">,
  worker: WorkerId,
  held: readonly Uint8Array[],
  { events, head }: RemainingLog,
): Promise<void> {
  const isPrefix = events.every(({ payload }, i) => held[i] && Buffer.compare(payload, held[i]) === 0);
  if (!isPrefix) return;
  const kept = events.map(({ payload }) => payload);
  using log = new RunLog({ ...options, snapshot: { events: kept, streamSeq: head.streamSeq } });
  for (const draft of planRecovery({ held, kept: events.length, worker, nonce: createNonce() }))
    log.append(draft);
  // Who else has the say by now, or that the broker is away again, the next plan finds out.
  await log.settled();
  await log.flush();
}
