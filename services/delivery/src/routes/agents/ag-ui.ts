import type { RequestLimits } from "../../limits/request-limits.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { ProjectedCaches } from "../../projected/projected-caches.ts";
import type { CreateGeneration } from "../../create/create-generation.ts";
import type { Hub } from "@reprise/stream";
import { agUiProjection, agUiSoFar, parseRunInput, restartsOf, snapshotFrames } from "@reprise/projections";
import { parseWith } from "@reprise/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { lacksRole, type Authentication } from "../../http/auth.ts";
import { addStopRoute, type StopPorts } from "../stop-route.ts";
import { beginThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";
import { assertNamedOnce, onlyModel, parseOptions, type ParsePorts } from "./parse-options.ts";
import { findRun, needsRun, type Run, runKey, type RunPorts } from "./runs.ts";
import { streamRun, type AgentStreamPorts } from "./stream-run.ts";

export type AgUiPorts = AgentStreamPorts &
  ParsePorts &
  RunPorts &
  StopPorts &
  ThreadPorts & {
    readonly authentication: Authentication;
    readonly hub: Hub;
    readonly create: CreateGeneration;
    readonly projections: ProjectedCaches;
    readonly modelNames: () => ReadonlySet<string>;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
  };

const PATH = "/v1/ag-ui/agent";
const protocol = "ag-ui";

/** The paths of AG-UI's clients, and their methods. */
export const AG_UI_PATHS = { [PATH]: ["GET", "POST"], [`${PATH}/:id/stop`]: ["POST"] } as const;

const named = { model: z.string().optional() };
const postQuery = z.strictObject(named);
const NEEDS_RUN = "must be there, once: the name of the run to read, as ?runId=<run>";
const getQuery = z.strictObject({
  ...named,
  runId: z.string({ error: NEEDS_RUN }).min(1, { error: NEEDS_RUN }),
});

/** Messages that a reader has, by its own word. */
type History = readonly { readonly id: string }[];

/**
 * Adds the routes that `HttpAgent` of AG-UI calls. `POST` begins a run, or resumes the one that already has the `runId`, with any messages. `GET …?runId=` is
 * for readers that have none of its messages. A reader that comes back gets a snapshot, and then the events that follow.
 */
export function addAgUiRoutes(app: FastifyInstance, context: AgUiPorts): void {
  const { authentication, bodies, hub, limits, projections } = context;

  const create = { roles: ["create"], streamTokens: true, countsItself: true } as const;
  app.post(PATH, { config: create }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    if (!principal.roles.has("read")) throw lacksRole("read");
    const query = parseWith(postQuery, request.query, "query");
    const model = query.model ?? onlyModel(context, principal);
    const parsed = parseRunInput(request.body, parseOptions(context, model));
    const { threadId, runId, messages } = parsed;
    assertNamedOnce(request, runId);
    const run = await findRun(context, principal, { protocol, runId });
    if (run) {
      request.body = undefined;
      bodies.release(request.raw);
      await limits.attach([request, reply], principal, { isStream: true, waits: false });
      return await join([request, reply], run, messages);
    }
    using started = await context.create({
      principal,
      call: [request, reply],
      request: parsed.request,
      idempotencyKey: runKey(protocol, runId),
      isStream: true,
    });
    const { ref, requested, begun } = started;
    await beginThreadRun(context, principal, { protocol, id: threadId, ref, requested });
    const projection = agUiProjection({ metadata: requested.request.metadata });
    return await streamRun(context, [request, reply], started, {
      protocol,
      projection,
      from: 0,
      call: "create",
      begun,
    });
  });

  const read = { roles: ["read"], streamTokens: true, countsItself: true } as const;
  app.get(PATH, { config: read }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { runId } = parseWith(getQuery, request.query, "query");
    await limits.attach([request, reply], principal, { isStream: true, waits: false });
    const run = needsRun(await findRun(context, principal, { protocol, runId }), "runId");
    return join([request, reply], run, []);
  });

  /** Restarts before the reader has come take nothing back that it has. */
  async function join(
    call: readonly [FastifyRequest, FastifyReply],
    run: Run,
    history: History,
  ): Promise<FastifyReply> {
    const { metadata } = run.requested.request;
    const fold = agUiSoFar(metadata);
    const soFar = await projections.foldOf(await hub.open(run.ref), fold).settle();
    return streamRun(context, call, run, {
      protocol,
      projection: agUiProjection({ metadata, passes: restartsOf(soFar.state) }),
      from: 0,
      opening: {
        fold,
        toFrames: (state, said) => snapshotFrames(state, said, history),
        isShared: history.length === 0,
      },
      call: "read",
    });
  }

  addStopRoute(app, context, { protocol, path: PATH });
}
