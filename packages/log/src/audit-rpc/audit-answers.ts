import { headers, type Msg, type NatsConnection } from "@nats-io/transport-node";
import {
  AUDIT_ERROR_HEADER,
  AUDIT_QUEUE,
  type AuditCall,
  auditCallSubject,
  toRepriseError,
} from "@reprise/protocol";

export interface AuditAnswer {
  readonly payload: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AuditAnswersOptions {
  connection: NatsConnection;
  call: AuditCall;
  /** What it throws is the answer. @param request unchecked JSON */
  answer: (request: unknown) => Promise<AuditAnswer>;
  /** Called for a defect here; the caller gets a general error. */
  onError: (error: unknown) => void;
}

/** Answers one kind of calls to the audit log, together with all other replicas that do. */
export function answerAuditCalls({
  connection,
  call,
  answer,
  onError,
}: AuditAnswersOptions): AsyncDisposable {
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
  const subscription = connection.subscribe(auditCallSubject(call), {
    queue: AUDIT_QUEUE,
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

/** What fails is an answer too. */
async function answerOne(
  answer: () => Promise<AuditAnswer>,
  onError: (error: unknown) => void,
): Promise<AuditAnswer> {
  try {
    return await answer();
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.code === "internal") onError(thrown);
    return { payload: "", headers: { [AUDIT_ERROR_HEADER]: JSON.stringify(error.toBody()) } };
  }
}
