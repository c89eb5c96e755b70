/**
 * What becomes of a turn whose prompt does not fit the model: `error` refuses it, `truncate_oldest` leaves the oldest turns out of its
 * prompt and of all later ones.
 */
export const FULL_POLICIES = ["error", "truncate_oldest"] as const;
export type FullPolicy = (typeof FULL_POLICIES)[number];
