import { recordSpans } from "./recorded-spans.ts";
import { describeTracing } from "./tracing-conformance.ts";

describeTracing("in memory", async (sample) => {
  const tracing = recordSpans({ sample });
  return {
    tracing,
    finish: async () => tracing.spans,
    [Symbol.asyncDispose]: () => tracing[Symbol.asyncDispose](),
  };
});
