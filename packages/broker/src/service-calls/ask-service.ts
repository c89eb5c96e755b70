import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  CALL_ERROR_HEADER,
  ERROR_CATALOGUE,
  type ErrorBody,
  type ErrorCode,
  isErrorCode,
  RepriseError,
} from "@reprise/protocol";
import { inboxOf, type NoReply, untilAnswered } from "../nats/reply-inbox.ts";

export interface AskedService {
  readonly connection: NatsConnection;
  /** Name of the service in messages. */
  readonly name: string;
  /** Code of the error when no replica answers. */
  readonly unavailable: ErrorCode;
}

const RETRY_AFTER_MS = 1_000;

/**
 * Asks a service, of which any replica answers.
 * @param triesMs how long each try waits for an answer
 * @throws RepriseError what the service answers with; its `unavailable` when no replica answers in time, `broker_unavailable` without a connection, `protocol_violation` for a
 * malformed error
 */
export async function askService(
  { connection, name, unavailable }: AskedService,
  subject: string,
  request: object,
  triesMs: readonly number[],
): Promise<Msg> {
  const payload = JSON.stringify(request);
  const reply = await untilAnswered(triesMs, (timeoutMs) =>
    inboxOf(connection).ask(subject, payload, timeoutMs),
  );
  if (typeof reply === "string") throw unanswered(reply, name, unavailable);
  const error = reply.headers?.get(CALL_ERROR_HEADER);
  if (error) throw decodeCallError(error, name);
  return reply;
}

function unanswered(reason: NoReply, name: string, unavailable: ErrorCode): RepriseError {
  const options = { cause: reason, retryAfterMs: RETRY_AFTER_MS };
  if (reason === "disconnected")
    return new RepriseError("broker_unavailable", `${name} can't be asked without the broker.`, options);
  return new RepriseError(unavailable, `${name} does not answer: ${reason}.`, options);
}

/** The error in a failed answer; retryable ones say when. */
function decodeCallError(header: string, name: string): RepriseError {
  const said = parseError(header);
  if (!said || !isErrorCode(said.code))
    return new RepriseError("protocol_violation", `${name} sent a malformed answer.`);
  const { code, message, param } = said;
  const { retryable } = ERROR_CATALOGUE[code];
  return new RepriseError(code, message, { param, ...(retryable && { retryAfterMs: RETRY_AFTER_MS }) });
}

function parseError(header: string): ErrorBody["error"] | undefined {
  try {
    return (JSON.parse(header) as Partial<ErrorBody> | null)?.error;
  } catch {
    return undefined;
  }
}
