import * as z from "zod";
import { isTenantId, type TenantId } from "../id.ts";

/*
 * Delivery's requests to analytics: requests over core NATS, answered by any replica (queue group `analytics`), which alone reads the rows. Requests and answers are JSON; an answer that
 * failed has the header `Reprise-Error` with an error body. No responders are `analytics_unavailable`. PROTOCOL.md has the answers, which are the HTTP API's.
 */

export const ANALYTICS_CALLS = ["summary", "timeseries", "generations", "budget", "usage"] as const;
export type AnalyticsCall = (typeof ANALYTICS_CALLS)[number];
export const ANALYTICS_QUEUE = "analytics";
/** Told to all replicas, with the name of a question whose caller has hung up: `question` in its request. */
export const ANALYTICS_CANCEL_SUBJECT = "analytics.cancel";

/** Returns the question, and the name that its caller has given it; undefined if it gave none. */
export function takeQuestion(sent: unknown): {
  readonly question: string | undefined;
  readonly request: unknown;
} {
  const isNamed = typeof sent === "object" && sent !== null && "question" in sent;
  if (!isNamed || typeof sent.question !== "string") return { question: undefined, request: sent };
  const { question, ...request } = sent;
  return { question, request };
}

/** Calendar times of a generation's end, in UTC, and what a row says of itself. `metadata.<key>` beside them. */
export const ANALYTICS_DIMENSIONS = [
  "tenant",
  "model",
  "engine",
  "status",
  "code",
  "reason",
  "finish_reason",
  "priority",
  "moderation",
  "read",
  "hour",
  "day",
  "month",
] as const;
export type AnalyticsDimension = (typeof ANALYTICS_DIMENSIONS)[number];

const METADATA_PREFIX = "metadata.";

/** A dimension, or the key of the metadata that it refers to. */
export type ParsedDimension = { readonly dimension: AnalyticsDimension } | { readonly metadataKey: string };

/** Undefined for what is none. */
export function parseDimension(name: string): ParsedDimension | undefined {
  if (name.startsWith(METADATA_PREFIX) && name.length > METADATA_PREFIX.length)
    return { metadataKey: name.slice(METADATA_PREFIX.length) };
  const dimension = ANALYTICS_DIMENSIONS.find((one) => one === name);
  return dimension && { dimension };
}

export const ANALYTICS_LIMITS = {
  /** Dimensions that one question groups by. */
  dimensions: 3,
  groups: 200,
  page: 1_000,
  /** Output tokens that a latency budget may be about. */
  budgetTokens: 1_000,
  /** Steps of a timeseries, times its groups. */
  points: 2_000,
  rangeDays: 400,
  /** Milliseconds that a caller waits for an answer; analytics works on none for longer. */
  answerMs: 60_000,
} as const;

const tenant = z
  .string()
  .transform((value, context): TenantId => {
    if (isTenantId(value)) return value;
    context.addIssue({ code: "custom", message: "is not a tenant" });
    return z.NEVER;
  })
  // Of all tenants: the operator alone may ask so.
  .nullable();
const time = z.iso.datetime();
const dimension = z.string().refine((name) => parseDimension(name) !== undefined, "is not a dimension");
const milliseconds = z.number().positive();

const query = {
  tenant,
  /** Ended at or after, and before. ISO 8601, UTC. */
  from: time,
  to: time,
  model: z.string().optional(),
  status: z.enum(["completed", "failed", "cancelled"]).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
};
const grouped = {
  by: z.array(dimension).max(ANALYTICS_LIMITS.dimensions).default([]),
  limit: z.int().min(1).max(ANALYTICS_LIMITS.groups).default(50),
};
const targets = {
  target_first_ms: milliseconds.optional(),
  target_gap_ms: milliseconds.optional(),
  target_total_ms: milliseconds.optional(),
};

export const ANALYTICS_STEPS_S = { "1m": 60, "5m": 300, "15m": 900, "1h": 3_600, "1d": 86_400 } as const;
export type AnalyticsStep = keyof typeof ANALYTICS_STEPS_S;
const step = z.enum(["1m", "5m", "15m", "1h", "1d"]);

export const BUDGET_CLASS_NAMES = ["chat-responsive", "chat-instant", "voice", "captions"] as const;

/** By the call. */
export const ANALYTICS_REQUESTS = {
  summary: z.object({ ...query, ...grouped, ...targets }),
  timeseries: z.object({ ...query, ...targets, step, by: z.array(dimension).max(1).default([]) }),
  generations: z.object({
    ...query,
    /** Its id: no other one. */
    generation: z.string().optional(),
    limit: z.int().min(1).max(ANALYTICS_LIMITS.page).default(100),
    /** `next` of the page before. */
    after: z.string().optional(),
  }),
  budget: z.object({
    ...query,
    class: z.enum(BUDGET_CLASS_NAMES).optional(),
    /** Own: instead of a class. */
    target_ms: milliseconds.optional(),
    quantile: z.number().gt(0).lt(1).optional(),
    /** Up to which output token. Default: the class's; 1 for an own target. */
    tokens: z.int().min(1).max(ANALYTICS_LIMITS.budgetTokens).optional(),
  }),
  usage: z.object({
    ...query,
    ...grouped,
    /** Default: those with the most generations first, and the rest in one. By key, all come, in pages. */
    order: z.enum(["size", "key"]).default("size"),
    /** `next` of the page before. */
    after: z.string().optional(),
  }),
} as const;

export type AnalyticsRequest<Call extends AnalyticsCall> = z.input<(typeof ANALYTICS_REQUESTS)[Call]>;
export type ParsedAnalyticsRequest<Call extends AnalyticsCall> = z.output<(typeof ANALYTICS_REQUESTS)[Call]>;
