import type { ReadSources } from "../../domain/shown-generation.ts";
import type { RequestNotes } from "../../telemetry/request-notes.ts";
import type { Logger } from "@reprise/runtime";
import type { Threads } from "../../threads/threads.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { GenerationLog } from "@reprise/stream";
import { GENERATION_ID_HEADER, SHOULD_RETRY_HEADER } from "../../http/header-names.ts";
import { hash } from "node:crypto";
import type { GenerationRef } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Started, type CreateGeneration } from "../../create/create-generation.ts";
import type { Asked } from "../../create/creating.ts";
import { endedSinceMs } from "../../domain/ended-since.ts";
import { readRequested } from "../../domain/to-requested.ts";
import { unlessGone } from "../../domain/unless-gone.ts";
import { headerOf } from "../../http/header-of.ts";
import { findFailureWithoutContent } from "../../projected/first-content.ts";
import { assertModel } from "../../models/assert-model.ts";
import { type BegunRun, findThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";

export interface StartOncePorts extends ReadSources, ThreadPorts {
  readonly log: GenerationLog;
  readonly create: CreateGeneration;
  readonly bodies: RequestBodies;
  readonly limits: RequestLimits;
  readonly threads: Threads;
  readonly modelNames: () => ReadonlySet<string>;
  readonly logger: Logger;
  readonly notes: RequestNotes;
}

type Call = readonly [FastifyRequest, FastifyReply];

/** The package `openai` says with each request how often it has sent that before. */
const RETRY_COUNT_HEADER = "x-stainless-retry-count";
/** Any other value of the header is ignored. */
const COUNT = /^(0|[1-9][0-9]*)$/;
const PROTOCOL = "openai-retry";
/** A client whose connection was lost tries again within 8 s. Later the same words are another request. */
const RETRIED_WITHIN_MS = 60_000;
/** The package waits 10 minutes for an answer, and then tries again, twice. After that no retry comes that would need a request's row. */
const ROW_SECONDS = 1_800;

/** A request, and the conversation to create for it. */
export type Wanted = Pick<Asked, "request" | "begins">;

export interface ToStartOnce extends Pick<Asked, "idempotencyKey" | "joinOnly" | "isStream"> {
  /** The client's request body: the package sends the same again. */
  readonly body: unknown;
  /** Called where nothing is joined. One that reads counts the call before. */
  readonly toAsked: () => Wanted | Promise<Wanted>;
}

/**
 * Creates a generation for a client that repeats a request by itself and without a key when its connection was lost before an answer. The package `openai`
 * does this, and would run the model twice. The repeated request joins the newest generation of the same caller with the same request, if that is running or
 * has ended less than a minute ago.
 *
 * The row by which a retry finds the generation is stored concurrently, and the answer does not wait for it. A retry that comes before the row exists starts
 * another run, and so does one that comes before the generation exists. The package retries half a second after its connection was lost, if it did not have
 * the answer's head by then; the row exists a few milliseconds after the head at the latest.
 */
export async function startOnce(
  context: StartOncePorts,
  call: Call,
  principal: Principal,
  { body, toAsked, ...toStart }: ToStartOnce,
): Promise<Pick<Started, "ref" | "requested" | "begun"> & Disposable> {
  const start = async (onCreating?: Asked["onCreating"]) =>
    context.create({ principal, call, ...toStart, ...(await toAsked()), onCreating });
  const [request] = call;
  const retries = headerOf(request, RETRY_COUNT_HEADER);
  const isCounted = retries !== undefined && COUNT.test(retries);
  if (toStart.idempotencyKey !== undefined || toStart.joinOnly || !isCounted) return start();
  const { tenant, endUser } = principal;
  const id = hash("sha256", JSON.stringify([principal.keyId, body]));
  const name = { tenant, protocol: PROTOCOL, endUser, id };
  if (retries !== "0") {
    await context.limits.count(call, principal);
    const current = await findThreadRun(context, principal, { protocol: PROTOCOL, id });
    const found = current && (await findRetried(context, current).catch(unlessGone));
    if (found) return join(context, call, principal, { ...found, isStream: toStart.isStream === true });
  }
  return start(({ generation }, requestedAtMs) => {
    const run = { generation, requestedAtMs };
    context.threads.begin(name, run, { ttlSeconds: ROW_SECONDS }).then(
      // From here on a retry joins.
      () => call[1].removeHeader(SHOULD_RETRY_HEADER),
      (err: unknown) => {
        context.logger.warn(
          { err, request: request.id },
          "a retry of this request can't join its generation",
        );
      },
    );
  });
}

/** Finds the run of an earlier try, unless that has ended too long ago or has failed without content: a client retries on such a failure's status. */
async function findRetried(context: StartOncePorts, ref: GenerationRef): Promise<BegunRun | undefined> {
  const requested = await readRequested(context.log, ref);
  const endedMs = await endedSinceMs(context, ref);
  if (endedMs > RETRIED_WITHIN_MS) return undefined;
  if (endedMs > 0 && findFailureWithoutContent(await context.hub.open(ref))) return undefined;
  return { ref, requested };
}

async function join(
  context: StartOncePorts,
  [request, reply]: Call,
  principal: Principal,
  { ref, requested, isStream }: BegunRun & { readonly isStream: boolean },
) {
  const { bodies, limits, notes } = context;
  assertModel(context, principal, requested.request.model);
  await limits.attach([request, reply], principal, { isStream, waits: !isStream });
  request.body = undefined;
  bodies.release(request.raw);
  notes.add(request, { generation: ref.generation, model: requested.request.model });
  void reply.header(GENERATION_ID_HEADER, ref.generation);
  return { ref, requested, begun: undefined, [Symbol.dispose]() {} };
}
