import { type Context, createContextKey, trace, TraceFlags } from "@opentelemetry/api";
import { type Sampler, SamplingDecision, type SamplingResult } from "@opentelemetry/sdk-trace";
import { isSampled } from "../tracing/sampling.ts";

/** Set in the context of a span whose parent is another party's. */
export const FOREIGN_PARENT = createContextKey("reprise.foreign_parent");

/** A trace is exported by its id, and whole: spans of the platform's own parents follow them. */
export class HeadSampler implements Sampler {
  readonly #share: number;

  constructor(share: number) {
    this.#share = share;
  }

  shouldSample(context: Context, traceId: string): SamplingResult {
    const parent = trace.getSpanContext(context);
    const decided =
      parent && context.getValue(FOREIGN_PARENT) !== true
        ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0
        : isSampled(traceId, this.#share);
    return { decision: decided ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
  }

  toString(): string {
    return `HeadSampler{${this.#share}}`;
  }
}
