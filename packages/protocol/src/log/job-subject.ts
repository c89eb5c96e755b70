import { type GenerationRef, isGenerationId, isTenantId, type TenantId } from "../id.ts";
import { decodeModelName, encodeModelName } from "../request/model-name.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/* The subjects of a model's queue. As in `subject.ts`, what varies comes in as a branded id or goes through an encoder. */

export const JOBS_STREAM = "JOBS";
export const JOBS_SUBJECTS = "job.>";

/** @throws RepriseError `invalid_request` when the model's name has no token */
export function jobSubject(model: string, { tenant, generation }: GenerationRef): string {
  return `job.${encodeModelName(model)}.${tenant}.${generation}`;
}

/** A generation's job, for any model. */
export function generationJobs({ tenant, generation }: GenerationRef): string {
  return `job.*.${tenant}.${generation}`;
}

/** The jobs of one model, of all tenants. */
export function modelJobs(model: string): string {
  return `job.${encodeModelName(model)}.>`;
}

/**
 * What a lane selects, which is one tenant's part of a model's queue, and the name of the consumer that all workers of the model share for it.
 * No model's token has `__` in it, so the name stands for one lane only.
 */
export function jobLane(model: string, tenant: TenantId): { filter: string; consumer: string } {
  const token = encodeModelName(model);
  return { filter: `job.${token}.${tenant}.>`, consumer: `worker_${token}__${tenant}` };
}

/** The consumer of a whole queue, of workers that know no lanes. The broker allows no lanes beside it. */
export function wholeQueueConsumer(model: string): string {
  return `worker_${encodeModelName(model)}`;
}

/** Where JOBS republishes the headers of what it stores. */
export const QUEUED_SUBJECTS = "queued.>";

/** Of all models. */
export const SLOTS_SUBJECTS = "slots.*";

/** Where workers hear of a model's new jobs. */
export function queuedJobs(model: string): string {
  return `queued.${encodeModelName(model)}.>`;
}

/** Where workers hear that a job can be pulled: the broker says so of a new one, and a worker of one that it gives back. */
export function queuedSubject(model: string, { tenant, generation }: GenerationRef): string {
  return `queued.${encodeModelName(model)}.${tenant}.${generation}`;
}

/** The tenant in what is under `job.<model>` or `queued.<model>`, whether it is a job's subject or not; undefined when there is none. */
export function laneTenant(subject: string): TenantId | undefined {
  const tenant = subject.split(".")[2];
  return isTenantId(tenant) ? tenant : undefined;
}

/** Where a model's workers tell each other how many slots each tenant has. */
export function slotsSubject(model: string): string {
  return `slots.${encodeModelName(model)}`;
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `jobSubject` makes */
export function parseJobSubject(subject: string): GenerationRef & { model: string } {
  const [kind, model, tenant, generation, ...rest] = subject.split(".");
  if (
    kind !== "job" ||
    model === undefined ||
    !isTenantId(tenant) ||
    !isGenerationId(generation) ||
    rest.length > 0
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not a job's subject.`);
  }
  return { model: decodeModelName(model), tenant, generation };
}
