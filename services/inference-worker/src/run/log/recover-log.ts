import type { RemainingLog } from "@reprise/stream";
import { planLogRecovery } from "../../domain/plan-log-recovery.ts";
import { createNonce } from "../attempt-nonce.ts";
import type { Run } from "../open-run.ts";
import { RunLog } from "./run-log.ts";

/**
 * Appends the events that the broker has lost and this worker still holds. Restores nothing if another process has continued the log after the
 * loss: its events are kept. Restores nothing either for a log that has outgrown its checkpoint.
 *
 * The last checkpoint is that of the recovered log. A checkpoint of the lost log could be followed by an event that is stored again at the same place, byte for
 * byte, and a reader would take it for a prefix of the log.
 */
export async function recoverLog(
  { context, job, log: lost }: Run,
  { events, head }: RemainingLog,
): Promise<void> {
  const held = lost.held();
  if (!held) return;
  const isPrefix = events.every(({ payload }, i) => held[i] && Buffer.compare(payload, held[i]) === 0);
  if (!isPrefix) return;
  const snapshot = { events: events.map(({ payload }) => payload), streamSeq: head.streamSeq };
  using log = new RunLog({ ...context, job, snapshot });
  const { worker } = context;
  for (const draft of planLogRecovery({ held, kept: events.length, worker, nonce: createNonce() }))
    log.appender.append(draft);
  // The next plan finds out whether another worker holds the generation by now, or the broker is away again.
  await log.appender.settled();
  await lost.checkpointsSettled();
  await log.flush();
}
