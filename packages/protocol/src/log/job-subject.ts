import { type GenerationRef, isGenerationId, isTenantId, type TenantId } from "../id.ts";
import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from "../request/fields/priority.ts";
import { decodeModelName, encodeModelName } from "../request/model-name.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/* The subjects of a model's queue. As in `subject.ts`, what varies comes in as a branded id or goes through an encoder. */

export const JOBS_STREAM = "JOBS";
export const JOBS_SUBJECTS = "job.>";

/**
 * Token that follows the generation in the subject of a job that is not interactive. The lanes of a tenant's priorities differ in the number of tokens, so no
 * job is in two.
 */
const BATCH = "batch" satisfies Priority;

/** One tenant's jobs of one priority, in a model's queue. */
export interface LaneName {
  readonly tenant: TenantId;
  readonly priority: Priority;
}

/** The key of a lane in a map. */
export function laneKey({ tenant, priority }: LaneName): string {
  return `${tenant}.${priority}`;
}

/** @throws RepriseError `invalid_request` when the model's name has no token */
export function jobSubject(model: string, ref: GenerationRef, priority: Priority = DEFAULT_PRIORITY): string {
  return `job.${encodeModelName(model)}.${placeOf(ref, priority)}`;
}

/** A generation's job, for any model: there are as many forms of its subject as priorities. */
export function generationJobs(ref: GenerationRef): readonly string[] {
  return PRIORITIES.map((priority) => `job.*.${placeOf(ref, priority)}`);
}

function placeOf({ tenant, generation }: GenerationRef, priority: Priority): string {
  return `${tenant}.${generation}${priority === BATCH ? `.${BATCH}` : ""}`;
}

/** The jobs of one model, of all tenants. */
export function modelJobs(model: string): string {
  return `job.${encodeModelName(model)}.>`;
}

/**
 * Returns the filter of a lane, and the name of the consumer that all workers of the model share for it. No model's token contains `__`, so the name belongs
 * to one lane only.
 */
export function jobLane(model: string, { tenant, priority }: LaneName): { filter: string; consumer: string } {
  const token = encodeModelName(model);
  const jobs = `job.${token}.${tenant}.*`;
  return priority === BATCH
    ? { filter: `${jobs}.${BATCH}`, consumer: `batch_${token}__${tenant}` }
    : { filter: jobs, consumer: `worker_${token}__${tenant}` };
}

/** The consumer of a whole queue, of workers that know no lanes. The broker allows no lanes beside it. */
export function wholeQueueConsumer(model: string): string {
  return `worker_${encodeModelName(model)}`;
}

/** Where JOBS republishes the headers of what it stores. */
export const QUEUED_SUBJECTS = "queued.>";

/** Subjects of all models. */
export const SLOTS_SUBJECTS = "slots.*";

/** Where workers hear of a model's new jobs. */
export function queuedJobs(model: string): string {
  return `queued.${encodeModelName(model)}.>`;
}

/** Where workers hear that a job can be pulled: the broker says so of a new one, and a worker of one that it gives back. */
export function queuedSubject(model: string, ref: GenerationRef, priority: Priority): string {
  return `queued.${encodeModelName(model)}.${placeOf(ref, priority)}`;
}

/** The lane of what is under `job.<model>` or `queued.<model>`, whether it is a job's subject or not; undefined for what no lane selects. */
export function laneOf(subject: string): LaneName | undefined {
  const [, , tenant, generation, ...rest] = subject.split(".");
  const priority = generation === undefined ? undefined : readPriority(rest);
  return isTenantId(tenant) && priority ? { tenant, priority } : undefined;
}

/** @param rest the tokens after the generation */
function readPriority(rest: readonly string[]): Priority | undefined {
  if (rest.length === 0) return DEFAULT_PRIORITY;
  return rest.length === 1 && rest[0] === BATCH ? BATCH : undefined;
}

/** Where a model's workers tell each other how many slots each tenant has. */
export function slotsSubject(model: string): string {
  return `slots.${encodeModelName(model)}`;
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `slotsSubject` makes */
export function parseSlotsSubject(subject: string): string {
  const [kind, model = "", ...rest] = subject.split(".");
  if (kind === "slots" && rest.length === 0) return decodeModelName(model);
  throw new RepriseError("protocol_violation", `"${subject}" is not a subject about slots.`);
}

/** The lane, and its model, that selects what `jobLane` has as its filter; undefined for any other filter. */
export function parseLaneFilter(filter: string): (LaneName & { readonly model: string }) | undefined {
  const [kind, token = "", , jobs] = filter.split(".");
  const lane = kind === "job" && jobs === "*" ? laneOf(filter) : undefined;
  return lane && { ...lane, model: decodeModelName(token) };
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `jobSubject` makes */
export function parseJobSubject(subject: string): GenerationRef & { model: string; priority: Priority } {
  const [kind, model, tenant, generation, ...rest] = subject.split(".");
  const priority = readPriority(rest);
  if (
    kind !== "job" ||
    model === undefined ||
    !isTenantId(tenant) ||
    !isGenerationId(generation) ||
    priority === undefined
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not a job's subject.`);
  }
  return { model: decodeModelName(model), tenant, generation, priority };
}
