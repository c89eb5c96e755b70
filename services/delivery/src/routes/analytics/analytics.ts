import type { AnalyticsClient } from "@reprise/broker";
import type { Authentication } from "../../http/auth.ts";
import { type AnalyticsCall, unixNow } from "@reprise/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { parseAnalyticsQuery } from "./analytics-query.ts";
import { sendPage } from "../audit-replay.ts";

export interface AnalyticsPorts {
  readonly authentication: Authentication;
  readonly analytics: AnalyticsClient;
}

export const ANALYTICS_PATHS: Readonly<Record<AnalyticsCall, string>> = {
  summary: "/v1/analytics/summary",
  timeseries: "/v1/analytics/timeseries",
  generations: "/v1/analytics/generations",
  budget: "/v1/analytics/budget",
  usage: "/v1/usage",
};

/**
 * Adds the routes that report what analytics has measured: for the key's own tenant, or for all tenants to the operator. An answer may take seconds, so a key
 * is checked again before it is sent.
 */
export function addAnalyticsRoutes(
  app: FastifyInstance,
  { authentication, analytics }: AnalyticsPorts,
): void {
  const config = { roles: ["usage"], operators: true } as const;
  const answer = async (call: AnalyticsCall, request: FastifyRequest, reply: FastifyReply) => {
    const principal = authentication.isOperator(request) ? undefined : authentication.principalOf(request);
    const asked = parseAnalyticsQuery(call, request.query, { own: principal?.tenant, nowMs: unixNow() });
    const hungUp = new AbortController();
    reply.raw.once("close", () => hungUp.abort());
    const json = await analytics.ask(call, asked, hungUp.signal);
    if (principal) authentication.renewReader(principal, "usage");
    return sendPage(reply, json);
  };
  for (const [call, path] of Object.entries(ANALYTICS_PATHS) as [AnalyticsCall, string][])
    app.get(path, { config }, (request, reply) => answer(call, request, reply));
}
