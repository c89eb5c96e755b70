/** What a tenant may have of a model's slots. */
export interface TenantShare {
  /** How many slots it gets for each of a tenant with weight 1, while both want more. */
  readonly weight: number;
  /** The most slots that it has at a time, over all workers. Infinity for no limit. */
  readonly maxRunning: number;
}

export const EQUAL_SHARE: TenantShare = { weight: 1, maxRunning: Number.POSITIVE_INFINITY };

/** A share as a job's header has it: `3`, or `3 20` with a limit. */
export function formatShare({ weight, maxRunning }: TenantShare): string {
  return Number.isFinite(maxRunning) ? `${weight} ${maxRunning}` : `${weight}`;
}

/** Undefined for what `formatShare` has not made: a job has to be run whatever its header says. */
export function parseShare(text: string): TenantShare | undefined {
  const [, weight, most] = /^([1-9][0-9]{0,8})(?: ([1-9][0-9]{0,8}))?$/.exec(text) ?? [];
  if (weight === undefined) return undefined;
  return { weight: Number(weight), maxRunning: most === undefined ? Number.POSITIVE_INFINITY : Number(most) };
}
