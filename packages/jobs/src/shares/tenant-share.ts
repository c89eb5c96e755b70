/** A tenant's share of a model's slots. */
export interface TenantShare {
  /** Slots for each slot of a tenant with weight 1, while both want more. */
  readonly weight: number;
  /** The most slots that it has at a time, over all workers. Infinity for no limit. */
  readonly maxRunning: number;
  /** When the tenant's record was stored, in microseconds: a later one counts, in whichever order jobs come. Default 0. */
  readonly storedAtUs?: number | undefined;
}

export const EQUAL_SHARE: TenantShare = { weight: 1, maxRunning: Number.POSITIVE_INFINITY };

/** A share as a job's header has it: `3`, or `3 20` with a limit, each with ` @1700000000000000` where it is known when the record was stored. */
export function formatShare({ weight, maxRunning, storedAtUs }: TenantShare): string {
  const limit = Number.isFinite(maxRunning) ? ` ${maxRunning}` : "";
  return `${weight}${limit}${storedAtUs ? ` @${storedAtUs}` : ""}`;
}

/** Returns undefined for text that `formatShare` has not made: a job has to run even if its header is invalid. */
export function parseShare(text: string): TenantShare | undefined {
  const format = /^([1-9][0-9]{0,8})(?: ([1-9][0-9]{0,8}))?(?: @([1-9][0-9]{0,15}))?$/;
  const [, weight, most, storedAtUs] = format.exec(text) ?? [];
  if (weight === undefined) return undefined;
  return {
    weight: Number(weight),
    maxRunning: most === undefined ? Number.POSITIVE_INFINITY : Number(most),
    ...(storedAtUs !== undefined && { storedAtUs: Number(storedAtUs) }),
  };
}
