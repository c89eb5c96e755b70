import { retryRejected, type RetryOptions } from "@reprise/async";
import type { NatsConnection } from "@nats-io/transport-node";
import {
  type Publish,
  isUnavailable,
  readAllMessages,
  type ReadRequest,
  type StreamMessage,
} from "@reprise/broker";

/** Reads rows, and stores them with the expected last sequence. */
export interface RowBroker {
  readonly publish: Publish;
  /** Asks leaders. */
  readonly reads: NatsConnection;
  /** Milliseconds for which a call that begins now keeps trying while the broker does not answer. */
  readonly budgetMs: () => number;
}

const PAUSE_MS = 100;

export function patienceOf({ budgetMs }: Pick<RowBroker, "budgetMs">): RetryOptions {
  return { pauseMs: PAUSE_MS, budgetMs: budgetMs() };
}

/**
 * Asks again while the broker does not answer, for the budget: for what changes nothing, or nothing more when it is done twice.
 * @throws RepriseError `broker_unavailable`
 */
export function askPatiently<T>(broker: Pick<RowBroker, "budgetMs">, ask: () => Promise<T>): Promise<T> {
  return retryRejected(ask, isUnavailable, patienceOf(broker));
}

/**
 * Like `readAllMessages`, but continues after a break from the same place. Each break has its own budget.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readAllPatiently(
  broker: Pick<RowBroker, "budgetMs">,
  connection: NatsConnection,
  stream: string,
  request: ReadRequest,
): AsyncGenerator<StreamMessage> {
  let { afterStreamSeq } = request;
  let messages: AsyncGenerator<StreamMessage> | undefined;
  const next = async () => {
    messages ??= readAllMessages(connection, stream, { ...request, afterStreamSeq });
    try {
      return await messages.next();
    } catch (error) {
      // A generator that has thrown is at its end.
      messages = undefined;
      throw error;
    }
  };
  for (;;) {
    const { done, value } = await askPatiently(broker, next);
    if (done === true) return;
    afterStreamSeq = value.streamSeq;
    yield value;
  }
}
