/**
 * What becomes of a turn that is created while the last one has not ended: `reject` refuses it, `queue` has it wait, in the order in which
 * turns were created.
 */
export const BUSY_POLICIES = ["reject", "queue"] as const;
export type BusyPolicy = (typeof BUSY_POLICIES)[number];
