import type { GenerationCache } from "@reprise/stream";
import type { RepriseError, Seq } from "@reprise/protocol";
import {
  GEN_AI,
  GEN_AI_OPERATION,
  LOG_SPAN,
  MESSAGING,
  NO_SPAN,
  parseTraceparent,
  REPRISE,
  type Tracing,
  type TraceSpan,
} from "@reprise/runtime/telemetry";
import type { Position } from "./position.ts";

export interface ReadingOptions {
  /** Span of the request for the stream. */
  readonly request: TraceSpan;
  /** The first event that the reader is sent. */
  readonly fromSeq: Seq;
  readonly resumed: boolean;
}

/** A reader's span, from the beginning of its stream. */
export interface Reading {
  /** The stream is over. @param error why, where that was not its last event or its reader */
  end(position: Pick<Position, "takenSeq">, error: RepriseError | undefined): void;
}

const NOT_TRACED: Reading = Object.freeze({ end() {} });
const MAX_TRACED = 32;

/**
 * A span for each reader's stream, in the trace of the request that created the generation: so one trace shows all of a generation's
 * readers. Of one generation a node traces 32; how many more there were is on the last of them.
 */
export class ReaderTraces {
  readonly #tracing: Tracing;
  readonly #traced = new WeakMap<GenerationCache, { spans: number; leftOut: number; last: TraceSpan }>();

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  begin(cache: GenerationCache, { request, fromSeq, resumed }: ReadingOptions): Reading {
    if (!this.#tracing.isOn) return NOT_TRACED;
    const traced = this.#traced.get(cache) ?? { spans: 0, leftOut: 0, last: NO_SPAN };
    this.#traced.set(cache, traced);
    if (traced.spans === MAX_TRACED) {
      traced.last.set({ [REPRISE.readersLeftOut]: ++traced.leftOut });
      return NOT_TRACED;
    }
    const { model } = cache.requested?.request ?? {};
    const span = this.#tracing.start("deliver", {
      kind: "consumer",
      parent: parseTraceparent(cache.requested?.traceparent ?? ""),
      links: request.context ? [request.context] : [],
      attributes: {
        ...LOG_SPAN,
        [MESSAGING.operation]: "deliver",
        [MESSAGING.operationType]: "process",
        // Not its usage: back ends would count that once for each reader.
        [GEN_AI.operation]: GEN_AI_OPERATION.fetch,
        [GEN_AI.requestModel]: model,
        [REPRISE.tenant]: cache.ref.tenant,
        [REPRISE.generation]: cache.ref.generation,
        [REPRISE.fromSeq]: fromSeq,
        [REPRISE.resumed]: resumed,
      },
    });
    traced.spans++;
    traced.last = span;
    if (!span.isRecorded) return NOT_TRACED;
    const stopListening = listenForFirst(cache, fromSeq, () => span.event("first_event"));
    return {
      end({ takenSeq }, error) {
        stopListening();
        span.set({ [REPRISE.lastSeq]: takenSeq });
        if (error) span.fail(error.code);
        span.end();
      },
    };
  }
}

/** Listens to the cache until it may show that event, and no longer: what follows costs nothing. */
function listenForFirst(cache: GenerationCache, seq: Seq, onFirst: () => void): () => void {
  const isThere = () => cache.shownSeq >= seq;
  if (isThere()) {
    onFirst();
    return () => {};
  }
  const stop = cache.listen(() => {
    if (!isThere()) return;
    stop();
    onFirst();
  });
  return stop;
}
