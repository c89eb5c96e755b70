import { recordSpans } from "./recorded-spans.ts";
import { describeTracing } from "./tracing-conformance.ts";

describeTracing("in memory", async (options) => {
  const tracing = recordSpans(options);
  return {
    tracing,
    finish: async () => tracing.spans,
    [Symbol.asyncDispose]: () => tracing[Symbol.asyncDispose](),
  };
});
