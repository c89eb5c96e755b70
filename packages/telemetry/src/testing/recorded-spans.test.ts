import { recordSpans } from "./recorded-spans.ts";
import { describeTracing } from "./tracing-conformance.ts";

describeTracing("in memory", async (sample, options) => {
  const tracing = recordSpans({ sample, ...options });
  return {
    tracing,
    finish: async () => tracing.spans,
    [Symbol.asyncDispose]: () => tracing[Symbol.asyncDispose](),
  };
});
