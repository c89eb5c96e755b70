import { parseInputAppend, parseWith } from "@reprise/protocol";
import type { GenerationLog } from "@reprise/stream";
import type { FastifyInstance } from "fastify";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import { accessGeneration } from "../domain/generation-access.ts";
import type { Authentication } from "../http/auth.ts";
import { noQuery } from "../http/query-params.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { InputWriters } from "./input-writers.ts";

export interface InputRoutePorts {
  readonly authentication: Authentication;
  readonly bodies: RequestBodies;
  readonly inputs: InputWriters;
  readonly log: GenerationLog;
  readonly notes: RequestNotes;
}

const PATH = "/v1/generations/:id/input";

/** Methods that each path takes. */
export const INPUT_PATHS = { [PATH]: ["GET", "POST"] } as const;

const config = { roles: ["input"], streamTokens: true } as const;

/** Adds the routes that append to a generation's input log, and tell where it ends. */
export function addInputRoutes(
  app: FastifyInstance,
  { authentication, bodies, inputs, log, notes }: InputRoutePorts,
): void {
  app.post<{ Params: { id: string } }>(PATH, { config }, async (request) => {
    using _ = bodies.keep(request.raw);
    parseWith(noQuery, request.query, "query");
    const ref = await accessGeneration(log, authentication.principalOf(request), request.params.id);
    notes.add(request, { generation: ref.generation });
    return await inputs.append(ref, parseInputAppend(request.body, await inputs.formatOf(ref)));
  });

  app.get<{ Params: { id: string } }>(PATH, { config }, async (request) => {
    parseWith(noQuery, request.query, "query");
    const ref = await accessGeneration(log, authentication.principalOf(request), request.params.id);
    notes.add(request, { generation: ref.generation });
    return inputs.stateOf(ref);
  });
}
