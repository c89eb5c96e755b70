import type { NatsConnection } from "@nats-io/transport-node";
import {
  ANALYTICS_LIMITS,
  type AnalyticsCall,
  type AnalyticsRequest,
  analyticsCallSubject,
} from "@reprise/protocol";
import { askService } from "./ask-service.ts";

/**
 * Asks analytics, of which any replica answers. Throws RepriseError: what analytics answers with; `analytics_unavailable` when no replica answers in time, `broker_unavailable`
 * without a connection, `protocol_violation` for a malformed answer.
 */
export interface AnalyticsClient {
  /** @returns JSON */
  ask<Call extends AnalyticsCall>(call: Call, request: AnalyticsRequest<Call>): Promise<string>;
}

/** A question may read as many files as there are, and is not asked twice. */
const TRIES_MS = [ANALYTICS_LIMITS.answerMs];

export function createAnalyticsClient(connection: NatsConnection, triesMs = TRIES_MS): AnalyticsClient {
  const service = { connection, name: "Analytics", unavailable: "analytics_unavailable" } as const;
  return {
    async ask(call, request) {
      return (await askService(service, analyticsCallSubject(call), request, triesMs)).string();
    },
  };
}
