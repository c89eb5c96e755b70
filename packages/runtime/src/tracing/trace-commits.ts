import { toRepriseError } from "@reprise/protocol";
import { inSpan, MESSAGING, NO_SPAN, REPRISE, type Tracing, type TraceSpan } from "../telemetry/index.ts";

/** The batch fields that a span gets. */
interface BatchLike {
  readonly stream: string;
  readonly first: number;
  readonly last: number;
  readonly messages: readonly unknown[];
}

/** The span of one commit. */
export interface CommitSpan {
  /** A try has failed, and another one follows: the span is of a commit that had an error. */
  failed(error: unknown): void;
  /** Adds the counts of the commit. */
  counted(counts: Readonly<Record<`reprise.${string}`, number>>): void;
}

/**
 * Makes a span for each batch that a consumer commits: a trace of its own. It has no links: a batch holds the events of
 * any number of generations. Batches without a message have none.
 * @param consumer as spans name it
 */
export function traceCommits<Batch extends BatchLike, Outcome extends string>(
  tracing: Tracing,
  consumer: string,
  commit: (batch: Batch, giveUp: AbortSignal, span: CommitSpan) => Promise<Outcome>,
): (batch: Batch, giveUp: AbortSignal) => Promise<Outcome> {
  return (batch, giveUp) => {
    const { stream, first, last, messages } = batch;
    const span =
      messages.length === 0
        ? NO_SPAN
        : tracing.start(`commit ${consumer}`, {
            kind: "consumer",
            attributes: {
              [MESSAGING.system]: "nats",
              [MESSAGING.operation]: "commit",
              [MESSAGING.operationType]: "process",
              [MESSAGING.destination]: stream,
              [MESSAGING.batch]: messages.length,
              [REPRISE.fromStreamSeq]: first,
              [REPRISE.lastStreamSeq]: last,
            },
          });
    return inSpan(span, async () => {
      const outcome = await commit(batch, giveUp, toCommitSpan(span));
      span.set({ [REPRISE.result]: outcome });
      return outcome;
    });
  };
}

function toCommitSpan(span: TraceSpan): CommitSpan {
  return {
    failed: (error) => span.fail(toRepriseError(error).code),
    counted: (counts) => span.set(counts),
  };
}
