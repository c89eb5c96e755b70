/** What was wanted lately: each entry is less than those before it, for an older one that is not more can never be the most again. */
export type Wanted = readonly { readonly atMs: number; readonly count: number }[];

/**
 * More is wanted at once; less only when nothing more was wanted for a whole window. So what is wanted is the most of the window.
 * @returns the window with `count` in it; its first entry is what is wanted
 */
export function stabilise(wanted: Wanted, count: number, nowMs: number, windowMs: number): Wanted {
  const kept = wanted.filter((entry) => entry.count > count && nowMs - entry.atMs < windowMs);
  return [...kept, { atMs: nowMs, count }];
}
