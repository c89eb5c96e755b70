import { NO_TRACING, type Tracing } from "../tracing/tracing.ts";
import type { TracingOptions } from "./sdk-tracing.ts";

/**
 * Opens tracing by OpenTelemetry's SDK, which sends spans in the background: a collector that is away, slow or refuses costs spans and
 * nothing else. If no collector is configured, tracing is off, and the SDK is not loaded.
 */
export async function openTracing(options: TracingOptions & { readonly isOn: boolean }): Promise<Tracing> {
  if (!options.isOn) return NO_TRACING;
  const { startSdkTracing } = await import("./sdk-tracing.ts");
  return startSdkTracing(options);
}
