import { headers, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { CALL_ERROR_HEADER, toErrorBody, toRepriseError } from "@reprise/protocol";

export interface CallAnswer {
  readonly payload: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AnswerCallsOptions {
  connection: NatsConnection;
  /** Subject of the calls, and the name of the queue group of the replicas that share them. */
  subject: string;
  queue: string;
  /**
   * An error that it throws is sent as the answer.
   * @param request unchecked JSON
   */
  answer: (request: unknown) => Promise<CallAnswer>;
  /** Called for a defect here; the caller gets a general error. */
  onError: (error: unknown) => void;
}

/** Answers one kind of a service's calls, together with all other replicas that do. */
export function answerCalls({
  connection,
  subject,
  queue,
  answer,
  onError,
}: AnswerCallsOptions): AsyncDisposable {
  const running = new Set<Promise<void>>();
  const respond = async (msg: Msg) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    running.add(promise);
    try {
      const { payload, headers: words = {} } = await answerOne(() => answer(msg.json()), onError);
      const hdrs = headers();
      for (const [name, value] of Object.entries(words)) hdrs.append(name, value);
      msg.respond(payload, { headers: hdrs });
    } catch (error) {
      onError(error);
    } finally {
      running.delete(promise);
      resolve();
    }
  };
  const subscription = connection.subscribe(subject, {
    queue,
    callback: (error, msg) => {
      if (error) onError(error);
      else void respond(msg);
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      // Over a connection that is closed nothing comes in any more.
      if (!connection.isClosed()) await subscription.drain();
      await Promise.all(running);
    },
  };
}

/** An error is an answer too. */
async function answerOne(
  answer: () => Promise<CallAnswer>,
  onError: (error: unknown) => void,
): Promise<CallAnswer> {
  try {
    return await answer();
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.code === "internal") onError(thrown);
    return { payload: "", headers: { [CALL_ERROR_HEADER]: JSON.stringify(toErrorBody(error)) } };
  }
}
