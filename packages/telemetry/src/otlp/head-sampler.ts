import {
  type Attributes,
  type Context,
  createContextKey,
  type SpanKind,
  trace,
  TraceFlags,
} from "@opentelemetry/api";
import { type Sampler, SamplingDecision, type SamplingResult } from "@opentelemetry/sdk-trace";
import { decideSampling, type SampleShares, shareOf } from "../tracing/sampling.ts";

/** Set in the context of a span whose parent is another party's. */
export const FOREIGN_PARENT = createContextKey("reprise.foreign_parent");

/**
 * What is exported is decided where a trace enters the platform (`decideSampling`), and whole: spans of the platform's own parents follow them. The others are recorded all the same, as their
 * outcome may make them worth exporting.
 */
export class HeadSampler implements Sampler {
  readonly #shares: SampleShares;

  constructor(shares: SampleShares) {
    this.#shares = shares;
  }

  shouldSample(
    context: Context,
    traceId: string,
    _name: string,
    _kind: SpanKind,
    attributes: Attributes,
  ): SamplingResult {
    const parent = trace.getSpanContext(context);
    const decided = decideSampling(traceId, {
      parent: parent && {
        sampled: (parent.traceFlags & TraceFlags.SAMPLED) !== 0,
        isForeign: context.getValue(FOREIGN_PARENT) === true,
      },
      share: shareOf(this.#shares, attributes),
    });
    return { decision: decided ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.RECORD };
  }

  toString(): string {
    return `HeadSampler{${this.#shares.share}}`;
  }
}
