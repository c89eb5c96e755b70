import * as z from "zod";

/*
 * The collector publishes no schema of its configuration in a package, so these are the fields that its components had in their sources at 0.159
 * (`config.go` of each), as far as files of this repository use them: a field that is not here is refused, and so is a component.
 */

/** As Go writes durations. */
const duration = z.string().regex(/^\d+(?:ms|s|m|h)$/);
const hostAndPort = z.string().regex(/^[\w.-]+:\d+$/);

const receivers = {
  otlp: z.strictObject({
    protocols: z.strictObject({ http: z.strictObject({ endpoint: hostAndPort }) }),
  }),
  /** `config` is Prometheus' own: promtool reads it. */
  prometheus: z.strictObject({ config: z.record(z.string(), z.unknown()) }),
};

const policy = z.discriminatedUnion("type", [
  z.strictObject({
    name: z.string().min(1),
    type: z.literal("status_code"),
    status_code: z.strictObject({ status_codes: z.array(z.enum(["OK", "ERROR", "UNSET"])).min(1) }),
  }),
  z.strictObject({
    name: z.string().min(1),
    type: z.literal("numeric_attribute"),
    numeric_attribute: z.strictObject({ key: z.string().min(1), min_value: z.int(), max_value: z.int() }),
  }),
  z.strictObject({
    name: z.string().min(1),
    type: z.literal("probabilistic"),
    probabilistic: z.strictObject({ sampling_percentage: z.number().min(0).max(100) }),
  }),
]);

const processors = {
  memory_limiter: z
    .strictObject({
      check_interval: duration,
      limit_mib: z.int().min(1),
      spike_limit_mib: z.int().min(1).optional(),
    })
    .refine(({ limit_mib, spike_limit_mib = 0 }) => spike_limit_mib < limit_mib, {
      message: "spike_limit_mib must be smaller than limit_mib",
    }),
  batch: z.strictObject({ timeout: duration.optional(), send_batch_size: z.int().min(1).optional() }),
  tail_sampling: z.strictObject({
    decision_wait: duration,
    num_traces: z.int().min(1),
    policies: z.array(policy).min(1),
  }),
};

const exporters = {
  debug: z.strictObject({ verbosity: z.enum(["basic", "normal", "detailed"]).optional() }),
  otlphttp: z.strictObject({ endpoint: z.url() }),
  prometheusremotewrite: z.strictObject({ endpoint: z.url() }),
};

/** Components by `type`, or `type/name`. */
function components(types: Readonly<Record<string, z.ZodType>>) {
  const id = z.string().regex(new RegExp(`^(?:${Object.keys(types).join("|")})(?:/\\w+)?$`));
  return z.record(id, z.unknown()).superRefine((values, context) => {
    for (const [name, value] of Object.entries(values)) {
      const { error } = types[name.split("/")[0]!]!.safeParse(value);
      for (const issue of error?.issues ?? [])
        context.addIssue({ code: "custom", message: issue.message, path: [name, ...issue.path] });
    }
  });
}

const pipeline = z.strictObject({
  receivers: z.array(z.string()).min(1),
  processors: z.array(z.string()),
  exporters: z.array(z.string()).min(1),
});

export const collectorSchema = z.strictObject({
  receivers: components(receivers),
  processors: components(processors),
  exporters: components(exporters),
  service: z.strictObject({
    pipelines: z.record(z.enum(["traces", "metrics", "logs"]), pipeline.optional()),
  }),
});
