import type { NatsConnection } from "@nats-io/transport-node";
import {
  AUDIT_MORE_HEADER,
  type AuditCall,
  auditCallSubject,
  type AuditEventsRequest,
  type AuditRecord,
  type AuditRecordRequest,
  type AuditSearch,
  type AuditSearchPage,
} from "@reprise/protocol";
import { askService } from "./ask-service.ts";
import { type ArchivedEvent, decodeAuditEvents } from "./audit-client-answer.ts";

/** Consecutive events; `more` is true if another call would find later ones. */
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
export function createAuditClient(connection: NatsConnection, triesMs = TRIES_MS): AuditClient {
  const service = { connection, name: "The audit log", unavailable: "audit_unavailable" } as const;
  const ask = (call: AuditCall, request: object) =>
    askService(service, auditCallSubject(call), request, triesMs[call]);
  return {
    search: async (request) => (await ask("search", request)).json<AuditSearchPage>(),
    record: async (request) => (await ask("record", request)).json<AuditRecord>(),
    async events(request) {
      const reply = await ask("events", request);
      return { events: decodeAuditEvents(reply.data), more: reply.headers?.has(AUDIT_MORE_HEADER) ?? false };
    },
  };
}
