import { contextTokensSchema, isTenantId, type TenantId } from "@reprise/protocol";

/** Announcement of a worker to the other workers of its model. */
export interface SlotsAnnouncement {
  readonly worker: string;
  readonly slots: number;
  /** The slots that tenants have there. */
  readonly running: ReadonlyMap<TenantId, number>;
  /** Jobs that the worker has, parked ones included: for delivery. */
  readonly held?: number | undefined;
  /** Capabilities of the model's engine there, by names that this version may not know: for delivery. Workers that do not announce any know no such names. */
  readonly capabilities?: readonly string[] | undefined;
  /** Number of tokens that the model takes there, if its engine reports it: for delivery. */
  readonly contextTokens?: number | undefined;
}

const MAX_COUNT = 1_000_000;
const MAX_WORKER_LENGTH = 64;
const MAX_CAPABILITIES = 256;
const MAX_CAPABILITY_LENGTH = 64;

export function formatAnnouncement({ running, ...told }: SlotsAnnouncement): string {
  const { worker, slots, ...others } = told;
  return JSON.stringify({ worker, slots, running: Object.fromEntries(running), ...others });
}

/** Undefined for what `formatAnnouncement` has not made: any service that may publish on the subject can send it. */
export function parseAnnouncement(text: string): SlotsAnnouncement | undefined {
  const { worker, slots, running, held, capabilities, contextTokens } = parseObject(text) ?? {};
  if (typeof worker !== "string" || worker.length > MAX_WORKER_LENGTH) return undefined;
  if (!isCount(slots) || !isObject(running)) return undefined;
  const counts = new Map<TenantId, number>();
  for (const [tenant, count] of Object.entries(running)) {
    if (!isTenantId(tenant) || !isCount(count)) return undefined;
    counts.set(tenant, count);
  }
  return {
    worker,
    slots,
    running: counts,
    held: isCount(held) ? held : undefined,
    capabilities: parseCapabilities(capabilities),
    contextTokens: contextTokensSchema.safeParse(contextTokens).data,
  };
}

/** Undefined for what is none: then nothing is known of the worker. */
function parseCapabilities(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_CAPABILITIES) return undefined;
  const isName = (name: unknown) => typeof name === "string" && name.length <= MAX_CAPABILITY_LENGTH;
  return value.every(isName) ? (value as string[]) : undefined;
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
