import { Semaphore } from "@reprise/async";
import {
  decodeEvent,
  type GenerationRef,
  generationsStream,
  isTerminal,
  parseLogSubject,
  peekType,
  shardSubjects,
  STREAM_START,
} from "@reprise/protocol";
import { type Broker, getStreamInfo } from "@reprise/broker";
import { enqueueJob, openJobs } from "@reprise/jobs";
import { createGenerationLog } from "../read/generation-log.ts";

const AT_ONCE = 32;

/**
 * Queues every generation again that has not ended and has no job. For a broker at which no service runs: reads the last event of every log.
 * @returns how many there were
 * @throws RepriseError `broker_unavailable`
 */
export async function queueOpenGenerations(broker: Broker, shards: number): Promise<number> {
  const log = createGenerationLog(broker, { shards });
  const queued = new Set<string>();
  for await (const { ref } of openJobs.readAllJobs(broker.bulk)) queued.add(ref.generation);
  const slots = new Semaphore(AT_ONCE);

  const queueIfOpen = async (ref: GenerationRef): Promise<number> => {
    const last = await log.leader.readLast(ref);
    if (!last || isTerminal(peekType(last.payload))) return 0;
    // What moderation appends may follow the end.
    const events = await log.leader.readTail(ref, STREAM_START);
    if (events.some(({ payload }) => isTerminal(peekType(payload)))) return 0;
    const payload = events[0]?.payload;
    const first = payload && decodeEvent(payload);
    // A log whose beginning has expired can't be run.
    if (payload === undefined || first?.type !== "generation.requested") return 0;
    const { model, priority } = first.request;
    await enqueueJob(log.publish, { model, ref, priority, payload });
    return 1;
  };

  let count = 0;
  for (let shard = 0; shard < shards; shard++) {
    for await (const refs of logsOf(broker, shard)) {
      const open = refs.filter(({ generation }) => !queued.has(generation));
      const counts = await Promise.all(open.map((ref) => slots.run(() => queueIfOpen(ref))));
      count += counts.reduce((sum, each) => sum + each, 0);
    }
  }
  return count;
}

async function* logsOf(broker: Broker, shard: number): AsyncGenerator<GenerationRef[]> {
  const filter = { subjects_filter: shardSubjects(shard).stored };
  for (let offset = 0, total = 1; offset < total;) {
    const info = await getStreamInfo(broker.bulk, generationsStream(shard), { ...filter, offset });
    const subjects = Object.keys(info.state.subjects ?? {});
    yield subjects.map(toRef).filter((ref) => ref !== undefined);
    total = subjects.length === 0 ? 0 : info.total;
    offset += subjects.length;
  }
}

/** Undefined for what an erasure has filled up. */
function toRef(subject: string): GenerationRef | undefined {
  try {
    return parseLogSubject(subject);
  } catch {
    return undefined;
  }
}
