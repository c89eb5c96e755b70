/** Policy for a turn that is created while the last one is running: `reject` refuses it, `queue` makes it wait, in the order in which turns were created. */
export const BUSY_POLICIES = ["reject", "queue"] as const;
export type BusyPolicy = (typeof BUSY_POLICIES)[number];
