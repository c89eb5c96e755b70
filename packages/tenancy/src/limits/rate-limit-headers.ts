import type { Decision, Standing } from "./counters.ts";

/** Header fields of draft-ietf-httpapi-ratelimit-headers-10, which report the state of a client's limits. */
export interface RateLimitHeaders {
  /** All limits that were looked at: `"tenant.requests";q=600;w=60, "tenant.readers";q=100;qu="concurrent-requests"`. */
  readonly "RateLimit-Policy": string;
  /** The limit that ends first: `"tenant.requests";r=12;t=30`. */
  readonly RateLimit: string;
}

/** Undefined where nothing is limited. */
export function toRateLimitHeaders({ standings, refused }: Decision): RateLimitHeaders | undefined {
  const tightest =
    standings.find(({ check }) => check === refused?.check) ?? standings.toSorted(byShareLeft)[0];
  if (!tightest) return undefined;
  return {
    "RateLimit-Policy": standings.map(toPolicy).join(", "),
    RateLimit: `"${tightest.check.name}";r=${tightest.remaining}${toReset(tightest)}`,
  };
}

function toPolicy({ check }: Standing): string {
  const quota = `"${check.name}";q=${check.limit}`;
  return check.kind === "rate"
    ? `${quota};w=${Math.ceil(check.windowMs / 1_000)}`
    : `${quota};qu="concurrent-requests"`;
}

function toReset({ check, resetMs }: Standing): string {
  return check.kind === "rate" ? `;t=${Math.ceil(resetMs / 1_000)}` : "";
}

function byShareLeft(a: Standing, b: Standing): number {
  return a.remaining / a.check.limit - b.remaining / b.check.limit;
}
