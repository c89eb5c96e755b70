import { STREAM_START } from "@reprise/protocol";
import { enqueueJob } from "@reprise/jobs";
import { type Broker, readAllMessages } from "@reprise/broker";
import { appendOne, completed, newRef, type World, writeLog } from "../testing/world.ts";

const READ = { afterStreamSeq: STREAM_START, subject: ">", maxMessages: 500, maxBytes: 1_000_000, raw: true };

export async function contentsOf({ reads }: Broker, stream: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { streamSeq, subject, storedAtUs, payload } of readAllMessages(reads, stream, READ))
    lines.push(`${streamSeq} ${subject} ${storedAtUs} ${Buffer.from(payload).toString()}`);
  return lines;
}

/** A log that has ended, and one that has not, with its job. */
export async function fill({ log }: World): Promise<void> {
  const appender = await writeLog(log, newRef(), 20);
  await appendOne(appender, completed());
  const open = newRef();
  await writeLog(log, open, 5);
  const [first] = await log.leader.readTail(open, STREAM_START, 1);
  await enqueueJob(log.publish, { model: "sim", ref: open, payload: first!.payload });
}
