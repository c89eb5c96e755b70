/** Of one tenant's generations of a model: interactive ones get a slot first. */
export const PRIORITIES = ["interactive", "batch"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Of a request that says none. */
export const DEFAULT_PRIORITY = "interactive" satisfies Priority;
