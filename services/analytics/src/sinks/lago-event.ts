import type { UsageEvent } from "@reprise/facts";

/**
 * An event for Lago's `POST /api/v1/events/batch`, which takes 100 at most. Lago has each `transaction_id` once: it refuses a whole batch with one that it has.
 */
export interface LagoEvent {
  readonly transaction_id: string;
  readonly external_subscription_id: string;
  readonly code: string;
  /** Seconds since 1970, with three decimals. */
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, string | number>>;
}

/** @param code of the billable metric */
export function toLagoEvent({ id, subject, time, data }: UsageEvent, code: string): LagoEvent {
  const { metadata, ...fields } = data;
  const given = Object.entries({ ...metadata, ...fields }).flatMap(([name, value]) => {
    if (value === null) return [];
    return [[name, typeof value === "number" ? value : String(value)] as const];
  });
  return {
    transaction_id: id,
    external_subscription_id: subject,
    code,
    timestamp: (Date.parse(time) / 1_000).toFixed(3),
    properties: Object.fromEntries(given),
  };
}
