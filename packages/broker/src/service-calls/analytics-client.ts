import { randomUUID } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import {
  ANALYTICS_CANCEL_SUBJECT,
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
  /**
   * @param signal aborts when the answer is not wanted any more: analytics stops working on it
   * @returns JSON
   */
  ask<Call extends AnalyticsCall>(
    call: Call,
    request: AnalyticsRequest<Call>,
    signal?: AbortSignal,
  ): Promise<string>;
}

/** A question may read as many files as there are, and is not asked twice. */
const TRIES_MS = [ANALYTICS_LIMITS.answerMs];

export function createAnalyticsClient(connection: NatsConnection, triesMs = TRIES_MS): AnalyticsClient {
  const service = { connection, name: "Analytics", unavailable: "analytics_unavailable" } as const;
  return {
    async ask(call, request, signal) {
      const question = randomUUID();
      const cancel = () => {
        if (!connection.isClosed()) connection.publish(ANALYTICS_CANCEL_SUBJECT, question);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      try {
        const asked = { ...request, question };
        return (await askService(service, analyticsCallSubject(call), asked, triesMs)).string();
      } finally {
        signal?.removeEventListener("abort", cancel);
      }
    },
  };
}
