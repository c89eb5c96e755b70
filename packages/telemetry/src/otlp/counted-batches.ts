import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { CollectorWatch } from "./collector-watch.ts";

/** Tells the watch what the collector takes. */
class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #watch: CollectorWatch;
  readonly #onTaken: (spans: number) => void;

  /** @param onTaken called with how many spans have left the queue */
  constructor(exporter: SpanExporter, watch: CollectorWatch, onTaken: (spans: number) => void) {
    this.#exporter = exporter;
    this.#watch = watch;
    this.#onTaken = onTaken;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#onTaken(spans.length);
    this.#exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#watch.taken(spans.length);
      else this.#watch.refused(spans.length, result.error);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

export interface CountedBatchesOptions {
  readonly exporter: SpanExporter;
  readonly watch: CollectorWatch;
  /** The most spans that wait to be sent. Further ones are dropped. */
  readonly maxQueued: number;
  /** How often they are sent. */
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** The SDK's batches drop spans silently when they are full: here each dropped span is counted. */
export class CountedBatches extends BatchSpanProcessor {
  readonly #watch: CollectorWatch;
  readonly #maxQueued: number;
  readonly #queue: { length: number };

  constructor({ exporter, watch, maxQueued, everyMs, timeoutMs }: CountedBatchesOptions) {
    const queue = { length: 0 };
    super({
      exporter: new WatchedExporter(exporter, watch, (spans) => (queue.length -= spans)),
      maxQueueSize: maxQueued,
      scheduledDelayMillis: everyMs,
      exportTimeoutMillis: timeoutMs,
    });
    this.#watch = watch;
    this.#maxQueued = maxQueued;
    this.#queue = queue;
  }

  /** Called for spans that are exported, and no others. */
  override onEnd(span: ReadableSpan): void {
    if (this.#queue.length >= this.#maxQueued) return this.#watch.overflowed();
    this.#queue.length++;
    super.onEnd(span);
  }
}
