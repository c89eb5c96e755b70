import { NO_TRACING } from "../tracing/no-tracing.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { OtlpOptions } from "./otlp-options.ts";

/**
 * Tracing that sends its spans to a collector, each second, in the background: a collector that is away, slow or refuses costs
 * spans and nothing else. At most 2,048 spans wait; an export that takes longer than 5 s is given up.
 *
 * Without a URL tracing is off, and OpenTelemetry's SDK is not loaded.
 */
export async function openTracing(
  options: Omit<OtlpOptions, "url"> & { readonly url: string | undefined },
): Promise<Tracing> {
  const { url } = options;
  if (url === undefined) return NO_TRACING;
  const { createOtlpTracing } = await import("./otlp-tracing.ts");
  return createOtlpTracing({ ...options, url });
}
