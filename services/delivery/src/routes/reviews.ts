import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { Broker } from "@reprise/broker";
import type { GenerationLog } from "@reprise/stream";
import type { Authentication } from "../http/auth.ts";
import { LIMITS, parseGenerationId, parseWith, REVIEW_DECISIONS } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { decideReview } from "../review/decide-review.ts";
import { listReviews } from "../review/list-reviews.ts";
import { readModeration } from "../review/read-moderation.ts";
import { parseReviewId } from "../review/review.ts";
import { integerParam, noQuery } from "../http/query-params.ts";

export interface ReviewPorts {
  readonly authentication: Authentication;
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly bodies: RequestBodies;
}

const DEFAULT_LIMIT = 20;

export const reviewListSchema = z.strictObject({
  limit: integerParam(1, LIMITS.pageReviews).prefault(`${DEFAULT_LIMIT}`),
  after: z.string().optional(),
});
export const reviewAnswerSchema = z
  .strictObject({
    decision: z.enum(REVIEW_DECISIONS),
    replacement: z.string().max(LIMITS.reviewReplacementLength).optional(),
  })
  .refine(({ decision, replacement }) => (decision === "edit") === (replacement !== undefined), {
    path: ["replacement"],
    error: "must be there for the decision edit, and for no other",
  });

/** Adds the routes by which people read and decide reviews. No answer may be stored on the way: it holds text that was withdrawn. */
export function addReviewRoutes(
  app: FastifyInstance,
  { authentication, log, broker, bodies }: ReviewPorts,
): void {
  const config = { roles: ["review"] } as const;
  app.get("/v1/reviews", { config }, async (request) => {
    const principal = authentication.principalOf(request);
    const { limit, after } = parseWith(reviewListSchema, request.query, "query");
    const reviews = await listReviews({ log, broker, tenant: principal.tenant, limit, after });
    // The list may have taken seconds.
    authentication.renewReader(principal, "review");
    return reviews;
  });

  app.post<{ Params: { id: string } }>("/v1/reviews/:id", { config }, async (request) => {
    using _ = bodies.keep(request.raw);
    const { tenant, holder } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const { ref, reviewId } = parseReviewId(tenant, request.params.id);
    const answer = parseWith(reviewAnswerSchema, request.body);
    return await decideReview(log, { ref, reviewId, answer, reviewer: holder });
  });

  app.get<{ Params: { id: string } }>("/v1/generations/:id/moderation", { config }, async (request) => {
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const ref = { tenant: principal.tenant, generation: parseGenerationId(request.params.id) };
    const record = await readModeration(log, ref);
    authentication.renewReader(principal, "review");
    return record;
  });
}
