import type { PlacesByStream } from "@reprise/archive";
import { hasMessage, readLastMessage } from "@reprise/broker";
import { logErasure } from "@reprise/stream";
import {
  CHECKPOINTS_STREAM,
  checkpointSubject,
  encodeOpsRecord,
  generationJobs,
  type GenerationRef,
  inputStreamOf,
  JOBS_STREAM,
  opsSubject,
  parseGenerationId,
  RepriseError,
  streamOf,
  type TenantId,
  VERDICTS_STREAM,
  STREAM_START,
} from "@reprise/protocol";
import { EmptiedRanges } from "./emptied-ranges.ts";
import { ownersIn } from "./find-generations.ts";
import type { LiveStreams } from "../lifecycle-context.ts";

/** Generations that are ended or purged at once: each waits for its worker. */
const AT_ONCE = 16;

export function toRef(tenant: TenantId, generation: string): GenerationRef {
  return { tenant, generation: parseGenerationId(generation) };
}

/** Ends those that run, and waits until their workers have let go. */
export function endAll(live: LiveStreams, refs: readonly GenerationRef[]): Promise<void> {
  return inGroups(refs, (ref) => logErasure.endGeneration({ ...live, ref }));
}

/**
 * Purges those that are not purged. One that is long gone from the streams gets its marker too.
 * @param record called with all ranges that become empty, before they do: archivers have to know that they are no gap
 */
export async function purgeAll(
  live: LiveStreams,
  refs: readonly GenerationRef[],
  record: (places: PlacesByStream) => Promise<unknown>,
): Promise<void> {
  const unpurged: GenerationRef[] = [];
  await inGroups(refs, async (ref) => {
    if (!(await logErasure.isPurged({ ...live, ref }))) unpurged.push(ref);
  });
  if (unpurged.length === 0) return;
  const logs = unpurged.flatMap(({ generation }) => [streamOf(generation), inputStreamOf(generation)]);
  const places = await EmptiedRanges.open(live, [...logs, VERDICTS_STREAM]);
  const closed = new Map<GenerationRef, logErasure.ClosedGeneration>();
  await inGroups(unpurged, async (ref) => {
    await logErasure.endGeneration({ ...live, ref });
    const one = await logErasure.closeGeneration({ ...live, ref });
    places.add(one.ranges);
    closed.set(ref, one);
  });
  await record(places.byStream());
  await inGroups(unpurged, (ref) => logErasure.purgeGeneration({ ...live, ref }, closed.get(ref)));
}

/**
 * Tells every node to let go of them.
 * @param erasure its id
 */
export function announceAll(
  live: LiveStreams,
  refs: readonly GenerationRef[],
  erasure: string,
): Promise<void> {
  return inGroups(refs, (ref) => tellErased(live, ref, erasure));
}

async function tellErased({ log }: LiveStreams, ref: GenerationRef, erasure: string): Promise<void> {
  const record = encodeOpsRecord({ kind: "erased", at: new Date().toISOString(), erasure });
  const outcome = await log.publish(opsSubject("erased", ref.tenant, ref.generation), record, {});
  if (outcome.kind === "stored") return;
  throw new RepriseError("broker_unavailable", "The erasure could not be announced to the delivery nodes.", {
    retryAfterMs: 1_000,
  });
}

/** True if the live streams have any message of it, according to their leaders. */
export async function isAnywhere(live: LiveStreams, ref: GenerationRef): Promise<boolean> {
  const { broker, log } = live;
  if (await log.leader.readLast(ref)) return true;
  for (const subject of generationJobs(ref))
    if (await hasMessage(broker.main, JOBS_STREAM, subject)) return true;
  return hasMessage(broker.main, CHECKPOINTS_STREAM, checkpointSubject(ref));
}

/** Whose key a generation has, its conversation's or its subject's, as far as the leaders of the live streams have its request. */
export async function ownerOfLive(live: LiveStreams, ref: GenerationRef): Promise<string | undefined> {
  const [first] = await live.log.leader.readTail(ref, STREAM_START, 1);
  const request = first?.payload ?? (await readJob(live, ref));
  return request && ownersIn(request)[0];
}

/** Returns the request in its job. */
async function readJob({ broker }: LiveStreams, ref: GenerationRef): Promise<Uint8Array | undefined> {
  for (const subject of generationJobs(ref)) {
    const payload = await readLastMessage(broker.main, JOBS_STREAM, subject);
    if (payload) return payload;
  }
  return undefined;
}

async function inGroups(
  refs: readonly GenerationRef[],
  work: (ref: GenerationRef) => Promise<void>,
): Promise<void> {
  for (let i = 0; i < refs.length; i += AT_ONCE) await Promise.all(refs.slice(i, i + AT_ONCE).map(work));
}
