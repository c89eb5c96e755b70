import { isTenantId, type TenantId } from "@reprise/protocol";

/** What a worker has done with the jobs of a model since it began; `held` is what it has now, parked jobs included. */
export interface JobTotals {
  readonly taken: number;
  readonly ended: number;
  /** Milliseconds in which slots had jobs, over all slots. */
  readonly slotMs: number;
  readonly held: number;
}

/** What a worker tells the other workers of its model. */
export interface SlotsAnnouncement {
  readonly worker: string;
  readonly slots: number;
  /** The slots that tenants have there. */
  readonly running: ReadonlyMap<TenantId, number>;
  /** Of workers that tell them: delivery plans by these, and workers do not need them. */
  readonly totals?: JobTotals | undefined;
}

const MAX_COUNT = 1_000_000;
const MAX_WORKER_LENGTH = 64;

export function formatAnnouncement({ worker, slots, running, totals }: SlotsAnnouncement): string {
  return JSON.stringify({ worker, slots, running: Object.fromEntries(running), totals });
}

/** Undefined for what `formatAnnouncement` has not made: any service that may publish on the subject can send it. */
export function parseAnnouncement(text: string): SlotsAnnouncement | undefined {
  const { worker, slots, running, totals } = parseObject(text) ?? {};
  if (typeof worker !== "string" || worker.length > MAX_WORKER_LENGTH) return undefined;
  if (!isCount(slots) || !isObject(running)) return undefined;
  const counts = new Map<TenantId, number>();
  for (const [tenant, count] of Object.entries(running)) {
    if (!isTenantId(tenant) || !isCount(count)) return undefined;
    counts.set(tenant, count);
  }
  return { worker, slots, running: counts, totals: parseTotals(totals) };
}

/** Undefined for what is none: the rest of the announcement counts all the same. */
function parseTotals(value: unknown): JobTotals | undefined {
  if (!isObject(value)) return undefined;
  const { taken, ended, slotMs, held } = value;
  if (!isTotal(taken) || !isTotal(ended) || !isTotal(slotMs) || !isCount(held)) return undefined;
  return { taken, ended, slotMs, held };
}

function isTotal(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_COUNT;
}
