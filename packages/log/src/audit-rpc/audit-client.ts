import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  AUDIT_ERROR_HEADER,
  AUDIT_MORE_HEADER,
  type AuditCall,
  auditCallSubject,
  type AuditEventsRequest,
  type AuditRecord,
  type AuditRecordRequest,
  type AuditSearch,
  type AuditSearchPage,
  RepriseError,
} from "@reprise/protocol";
import { type ArchivedEvent, decodeAuditError, decodeAuditEvents } from "./audit-client-answer.ts";
import { type NoReply, inboxOf, untilAnswered } from "../nats/reply-inbox.ts";

/** Consecutive events; `more` says whether another call would find more behind them. */
export interface ArchivedEvents {
  readonly events: readonly ArchivedEvent[];
  readonly more: boolean;
}

/**
 * Asks the audit log, of which any replica answers. All calls throw RepriseError: what the audit log answers with; `audit_unavailable`
 * when no replica answers in time, `broker_unavailable` without a connection, `protocol_violation` for a malformed response.
 */
export interface AuditClient {
  search(request: AuditSearch): Promise<AuditSearchPage>;
  /** @throws RepriseError `generation_not_found` */
  record(request: AuditRecordRequest): Promise<AuditRecord>;
  /** @throws RepriseError `generation_not_found`, `generation_erased` */
  events(request: AuditEventsRequest): Promise<ArchivedEvents>;
}

/** For each try. */
const TRIES_MS: Readonly<Record<AuditCall, readonly number[]>> = {
  // A search may read as many files as there are.
  search: [30_000],
  record: [5_000, 10_000],
  events: [5_000, 10_000],
};
const RETRY_AFTER_MS = 1_000;

export function createAuditClient(connection: NatsConnection, triesMs = TRIES_MS): AuditClient {
  async function ask(call: AuditCall, request: object): Promise<Msg> {
    const payload = JSON.stringify(request);
    const reply = await untilAnswered(triesMs[call], (timeoutMs) =>
      inboxOf(connection).ask(auditCallSubject(call), payload, timeoutMs),
    );
    if (typeof reply === "string") throw unanswered(reply);
    const error = reply.headers?.get(AUDIT_ERROR_HEADER);
    if (error) throw decodeAuditError(error, RETRY_AFTER_MS);
    return reply;
  }

  return {
    search: async (request) => (await ask("search", request)).json<AuditSearchPage>(),
    record: async (request) => (await ask("record", request)).json<AuditRecord>(),
    async events(request) {
      const reply = await ask("events", request);
      return { events: decodeAuditEvents(reply.data), more: reply.headers?.has(AUDIT_MORE_HEADER) ?? false };
    },
  };
}

function unanswered(reason: NoReply): RepriseError {
  const options = { cause: reason, retryAfterMs: RETRY_AFTER_MS };
  if (reason === "disconnected")
    return new RepriseError(
      "broker_unavailable",
      "The audit log can't be asked without the broker.",
      options,
    );
  return new RepriseError("audit_unavailable", `The audit log does not answer: ${reason}.`, options);
}
