import { parseOutputAppend, parseWith } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { GenerationLog } from "@reprise/stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import { accessGeneration } from "../domain/generation-access.ts";
import { type Authentication, lacksRole } from "../http/auth.ts";
import { noQuery } from "../http/query-params.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { Producers } from "./producers.ts";

export interface ProducerRoutePorts {
  readonly authentication: Authentication;
  readonly bodies: RequestBodies;
  readonly log: GenerationLog;
  readonly notes: RequestNotes;
  readonly producers: Producers;
}

const CLAIM = "/v1/generations/:id/producer";
const OUTPUT = "/v1/generations/:id/output";

/** Methods that each path takes. */
export const PRODUCER_PATHS = { [CLAIM]: ["POST"], [OUTPUT]: ["POST"] } as const;

const config = { roles: ["produce", "create"], streamTokens: true } as const;
type ById = { Params: { id: string } };

const claimSchema = z.strictObject({
  /** True to withdraw the output since the last tool's answer. Default: the producer continues it. */
  rewind: z.boolean().optional(),
});

/** Adds the routes by which a tenant's own process writes the output of a generation. */
export function addProducerRoutes(app: FastifyInstance, ports: ProducerRoutePorts): void {
  const { bodies, producers } = ports;

  app.post<ById>(CLAIM, { config }, async (request) => {
    using _ = bodies.keep(request.raw);
    const ref = await findGeneration(ports, request);
    const mint = ports.authentication.principalOf(request).tokenId === undefined;
    return await producers.claim(ref, { ...parseWith(claimSchema, request.body ?? {}), mint });
  });

  app.post<ById>(OUTPUT, { config }, async (request) => {
    using _ = bodies.keep(request.raw);
    const ref = await findGeneration(ports, request);
    return await producers.append(ref, parseOutputAppend(request.body));
  });
}

async function findGeneration(
  { authentication, log, notes }: ProducerRoutePorts,
  request: FastifyRequest<ById>,
) {
  const principal = authentication.principalOf(request);
  assertProducer(principal);
  parseWith(noQuery, request.query, "query");
  const ref = await accessGeneration(log, principal, request.params.id);
  notes.add(request, { generation: ref.generation });
  return ref;
}

/** A page's token that creates must not write its own answers, nor depose the backend that does. */
function assertProducer({ roles, tokenId }: Principal): void {
  if (tokenId !== undefined && !roles.has("produce")) throw lacksRole("produce");
}
