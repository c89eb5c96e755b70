import { GENERATION_ID_HEADER } from "../http/header-names.ts";
import type { NewLog } from "@reprise/stream";
import { EXTERNAL_MODEL, type GenerationRef, type RequestedEvent } from "@reprise/protocol";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import { type Asked, beginCreating, type BeginPorts } from "./creating.ts";
import { runSteps, type Step } from "./run-steps.ts";

export interface CreatePorts extends BeginPorts {
  readonly bodies: Pick<RequestBodies, "release">;
  readonly notes: Pick<RequestNotes, "add">;
  readonly readerMetrics: Pick<ReaderMetrics, "created">;
  readonly onError: (error: unknown) => void;
}

export interface Started extends Disposable {
  readonly ref: GenerationRef;
  readonly requested: RequestedEvent;
  /** The generation existed before this call. */
  readonly joined: boolean;
  /** The status of the answer: 201, or 200 if the generation existed before. */
  readonly status: 200 | 201;
  /** Lets the hub serve a new generation without reading its log. Valid until disposal. */
  readonly begun: NewLog | undefined;
}

/** Creates a generation, or joins the one that its idempotency key identifies. */
export type CreateGeneration = (asked: Asked) => Promise<Started>;

/**
 * Makes the function by which routes of every protocol, and the platform itself, create generations. It sets the headers `Reprise-Generation-Id` and
 * `X-Should-Retry` of the call's answer. The route keeps the body (`bodies.keep`) before it parses it; this function releases it. The route checks that the
 * caller may read the answer.
 *
 * @param externalSteps the steps of a generation that a producer writes
 *
 * The function throws RepriseError: any that its steps and `beginCreating` throw.
 */
export function createGenerations(
  ports: CreatePorts,
  steps: readonly Step[],
  externalSteps: readonly Step[],
): CreateGeneration {
  return async (asked) => {
    const { call } = asked;
    const creating = beginCreating(ports, asked);
    // The parsed request is kept; the body would stay in memory for as long as the answer streams.
    if (call) call[0].body = undefined;
    try {
      const isExternal = creating.sent.model === EXTERNAL_MODEL;
      await runSteps(isExternal ? externalSteps : steps, creating, ports.onError);
    } catch (error) {
      creating.listening?.[Symbol.dispose]();
      throw error;
    }
    const { ref, created, request, listening } = creating;
    if (!created) throw new Error("a create ends with its generation");
    const { requested, joined, first } = created;
    if (call) {
      ports.bodies.release(call[0].raw);
      ports.notes.add(call[0], { generation: ref.generation, model: request.model });
      void call[1].header(GENERATION_ID_HEADER, ref.generation);
    }
    if (!joined) ports.readerMetrics.created(request.model);
    const snapshot = { events: [first.payload], streamSeq: first.streamSeq };
    return {
      ref,
      requested,
      joined,
      status: joined ? 200 : 201,
      begun: listening && !joined ? { listening, snapshot } : undefined,
      [Symbol.dispose]: () => listening?.[Symbol.dispose](),
    };
  };
}
