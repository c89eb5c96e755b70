import { RepriseError } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { traceFields } from "@reprise/runtime/telemetry";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DISCARD_MS, discardBody } from "../bodies/discard-body.ts";
import type { Authentication } from "../http/auth.ts";
import { sendProblem, toProblem } from "../http/problem.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestTraces } from "../telemetry/request-traces.ts";

export interface ErrorPorts {
  readonly authentication: Pick<Authentication, "findPrincipal">;
  readonly limits: Pick<RequestLimits, "isCounted" | "count">;
  readonly notes: Pick<RequestNotes, "add">;
  readonly traces: Pick<RequestTraces, "spanOf">;
  readonly logger: Logger;
}

/** Characters of a path that an answer quotes at most. */
const MAX_QUOTED = 256;

/** Answers what routes and hooks throw, and requests that no route takes. */
export function answerErrors(app: FastifyInstance, ports: ErrorPorts, arrivalMs: number): void {
  const { notes, traces, logger } = ports;
  app.setErrorHandler(async (thrown, request, reply) => {
    const error = await countRefused(ports, [request, reply], toProblem(thrown, request));
    notes.add(request, { code: error.code });
    const hasLeft = request.raw.destroyed && !request.raw.complete;
    if (hasLeft) logger.debug({ request: request.id }, "a client left before its request was whole");
    else if (error.code === "internal")
      logger.error(
        { err: error.cause, request: request.id, ...traceFields(traces.spanOf(request)) },
        "a request failed",
      );
    await sendProblem(reply, error, discardBody(request.raw, Math.min(DISCARD_MS, arrivalMs)));
  });
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
}

/** A call that was refused before its route could count it counts all the same. */
async function countRefused(
  { authentication, limits }: ErrorPorts,
  call: readonly [FastifyRequest, FastifyReply],
  error: RepriseError,
): Promise<RepriseError> {
  const [request] = call;
  const principal = authentication.findPrincipal(request);
  if (!principal || limits.isCounted(request)) return error;
  return limits.count(call, principal).then(() => error, toProblem);
}

export function notFound({ url }: FastifyRequest): RepriseError {
  const [path = ""] = url.split("?", 1);
  return new RepriseError("not_found", `There is no ${path.slice(0, MAX_QUOTED)}.`);
}
