import { setTimeout as pause } from "node:timers/promises";
import { createWriterName, type GenerationLog, type Job, type LogSnapshot } from "@reprise/log";
import { logSubject, peekSeq, RepriseError } from "@reprise/protocol";

const TRIES = 40;
const PAUSE_MS = 50;

/**
 * A generation's log, with its seq 0: written from the job if whoever created the generation died before it could.
 * @throws RepriseError `broker_unavailable`
 */
export async function loadLog({ reader, publish }: GenerationLog, job: Job): Promise<LogSnapshot> {
  for (let tries = 1; tries <= TRIES; tries++) {
    // A generation that has only been requested, the usual case, is read whole with one request.
    const last = await reader.readLast(job.ref);
    if (last && peekSeq(last.payload) === 0) return { events: [last.payload], streamSeq: last.streamSeq };
    if (last) return reader.readLog(job.ref);
    const outcome = await publish(logSubject(job.ref), job.payload, {
      expectedLast: 0,
      writer: createWriterName(),
    });
    // A conflict means that the log has begun, and that the replica which answered does not know it yet.
    if (outcome.kind !== "stored") await pause(PAUSE_MS);
  }
  throw new RepriseError("broker_unavailable", "The generation's log can't be read or begun.");
}
