import {
  ANALYTICS_LIMITS,
  ANALYTICS_STEPS_S,
  type AnalyticsCall,
  type AnalyticsRequest,
  type AnalyticsStep,
  BUDGET_CLASS_NAMES,
  encodeModelName,
  isGenerationId,
  parseDimension,
  parseTenantId,
  parseWith,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import * as z from "zod";
import { splitMetadata } from "../metadata-params.ts";
import { integerParam, timeParam } from "../../http/query-params.ts";

const DAY_MS = 86_400_000;
const DEFAULT_GROUPS = 50;
const DEFAULT_PAGE = 100;
/** Longest cursor of a list, in characters; longer ones were not issued here. */
const CURSOR_LENGTH = 1_024;
const MOST_MS = 86_400_000;

const DIMENSIONS = "must be dimensions with commas between them, such as model,day or metadata.team";

const STATUSES = ["completed", "failed", "cancelled"] as const;

/** Zod's own words for a value that is none of these are a library's. */
function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}

const common = {
  /** For the operator's calls alone. */
  tenant: z.string().optional(),
  from: timeParam.optional(),
  to: timeParam.optional(),
  model: z.string().optional(),
  status: oneOf(STATUSES).optional(),
};

function byParam(most: number) {
  return z
    .string()
    .prefault("")
    .transform((value) => (value === "" ? [] : value.split(",")))
    .refine((names) => names.every((name) => parseDimension(name) !== undefined), { error: DIMENSIONS })
    .refine((names) => names.length <= most && new Set(names).size === names.length, {
      error: `must be ${most} different dimensions at most`,
    });
}

const milliseconds = integerParam(1, MOST_MS).optional();
const grouped = {
  by: byParam(ANALYTICS_LIMITS.dimensions),
  limit: integerParam(1, ANALYTICS_LIMITS.groups).prefault(`${DEFAULT_GROUPS}`),
};
const targets = {
  target_first_ms: milliseconds,
  target_gap_ms: milliseconds,
  target_total_ms: milliseconds,
};
const steps = Object.keys(ANALYTICS_STEPS_S) as [AnalyticsStep, ...AnalyticsStep[]];

const SCHEMAS = {
  summary: z.strictObject({ ...common, ...grouped, ...targets }),
  timeseries: z.strictObject({
    ...common,
    ...targets,
    step: oneOf(steps).prefault("15m"),
    by: byParam(1),
  }),
  generations: z.strictObject({
    ...common,
    generation: z.string().refine(isGenerationId, { error: "must be the id of a generation" }).optional(),
    limit: integerParam(1, ANALYTICS_LIMITS.page).prefault(`${DEFAULT_PAGE}`),
    after: z.string().max(CURSOR_LENGTH).optional(),
  }),
  budget: z.strictObject({
    ...common,
    class: oneOf(BUDGET_CLASS_NAMES).optional(),
    target_ms: milliseconds,
    quantile: z
      .string()
      .regex(/^0\.[0-9]{1,4}$/, { error: "must be a number between 0 and 1, such as 0.95" })
      .transform(Number)
      .refine((value) => value > 0, { error: "must be more than 0" })
      .optional(),
    tokens: integerParam(1, ANALYTICS_LIMITS.budgetTokens).optional(),
  }),
  usage: z.strictObject({
    ...common,
    ...grouped,
    order: z.enum(["size", "key"], { error: "must be size or key" }).prefault("size"),
    after: z.string().max(CURSOR_LENGTH).optional(),
  }),
} as const satisfies Record<AnalyticsCall, z.ZodType>;

/**
 * Parses a caller's query to analytics. Without times: the last 24 hours.
 * @param own the tenant of the caller's key; undefined for the operator, who may ask for one tenant or for all
 * @throws RepriseError `invalid_request` that names the parameter
 */
export function parseAnalyticsQuery<Call extends AnalyticsCall>(
  call: Call,
  query: unknown,
  { own, nowMs }: { readonly own: TenantId | undefined; readonly nowMs: number },
): AnalyticsRequest<Call> {
  const { metadata, plain } = splitMetadata(query);
  // No row has it, and in JSON it would narrow nothing.
  if (metadata && Object.hasOwn(metadata, "__proto__"))
    throw invalid("metadata[__proto__]", "metadata[__proto__]: is not measured.");
  const schema: z.ZodType<CommonParams> = SCHEMAS[call];
  const { tenant: named, from, to, model, ...rest } = parseWith(schema, plain, "query");
  if (named !== undefined && own !== undefined)
    throw invalid("tenant", "tenant: only the operator names one; a key asks for its own tenant.");
  if (model !== undefined) encodeModelName(model);
  const end = to ?? new Date(nowMs).toISOString();
  const start = from ?? new Date(Date.parse(end) - DAY_MS).toISOString();
  if (Date.parse(start) >= Date.parse(end))
    throw to === undefined
      ? invalid("from", "from: must be earlier than now, or send to.")
      : invalid("to", "to: must be later than from.");
  if (rest.quantile !== undefined && rest.target_ms === undefined)
    throw invalid("quantile", "quantile: needs target_ms; a class has its own targets.");
  return {
    tenant: own ?? (named === undefined ? null : parseTenantId(named)),
    from: start,
    to: end,
    ...(model !== undefined && { model }),
    ...(metadata && { metadata }),
    ...rest,
  } as AnalyticsRequest<Call>;
}

interface CommonParams {
  readonly tenant?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly model?: string | undefined;
  /** Parameter of a latency budget. */
  readonly target_ms?: number | undefined;
  readonly quantile?: number | undefined;
}

function invalid(param: string, message: string): RepriseError {
  return new RepriseError("invalid_request", message, { param });
}
