import { SHOULD_RETRY_HEADER } from "../http/header-names.ts";
import { beginLog, bufferLiveFeed, type GenerationLog } from "@reprise/stream";
import { type Broker } from "@reprise/broker";
import { enqueueJob } from "@reprise/jobs";
import { type RuleSetStore } from "@reprise/moderation";
import { asUnixMs } from "@reprise/protocol";
import {
  formatTraceparent,
  inSpan,
  JOB_SPAN,
  MESSAGING,
  NO_SPAN,
  REPRISE,
  type Tracing,
  type TraceSpan,
} from "@reprise/runtime/telemetry";
import { toRequested } from "../domain/to-requested.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { RequestTraces } from "../telemetry/request-traces.ts";
import type { Created, Creating, EncodedRequest } from "./creating.ts";
import { encodeRequest } from "./encode-request.ts";
import { assertSameRequest } from "./identify.ts";
import type { Step } from "./run-steps.ts";

/*
 * The rule set first: moderation must find the rules of every log that it reads. Then the job, then seq 0. A node that dies between the two leaves a job,
 * and its worker writes the seq 0 that the job carries; the other order would leave a generation that no worker ever runs. All three are harmless when
 * repeated: the job's message id and the compare-and-set on an empty log let the first create win, and all others find what it wrote.
 */

interface EncodePorts {
  readonly traces: Pick<RequestTraces, "traceparentOf">;
  /** Seconds that blobs are kept which the model makes. */
  readonly blobTtlSeconds: number;
  /** Undefined: the node stores no blobs. */
  readonly blobs: object | undefined;
}

/**
 * Encodes seq 0 as far as it is known before URLs are fetched.
 * @throws RepriseError `invalid_request` (too large)
 */
export function encode(ports: EncodePorts): Step {
  return {
    name: "encode",
    async run(creating) {
      creating.encoded = encodeFor(ports, creating);
      return undefined;
    },
  };
}

/**
 * Stores the rule set that seq 0 names. Seq 0 gets the content of fetched URLs.
 * @throws RepriseError `invalid_request` (too large), `broker_unavailable`
 */
export function store(ports: EncodePorts & { readonly ruleSets: RuleSetStore }): Step {
  return {
    name: "store",
    async run(creating) {
      const { ref, moderation, fetched } = creating;
      if (fetched) creating.encoded = encodeFor(ports, creating);
      if (moderation) await ports.ruleSets.keep(ref.tenant, moderation.rules);
      return undefined;
    },
  };
}

function encodeFor({ traces, blobTtlSeconds, blobs }: EncodePorts, creating: Creating): EncodedRequest {
  const { call } = creating.asked;
  const traceparent = call && traces.traceparentOf(call[0]);
  return encodeRequest(creating, { traceparent, blobTtlSeconds, storesBlobs: blobs !== undefined });
}

/** Announces the generation to its caller: the live feed of a stream is buffered from here on, and a request without a key must not be sent again. */
export function announce({
  broker,
  onError,
}: {
  readonly broker: Pick<Broker, "main">;
  readonly onError: (error: unknown) => void;
}): Step {
  return {
    name: "announce",
    async run(creating) {
      const { asked, ref, idempotencyKey, requestedAt } = creating;
      const { call, isStream } = asked;
      if (call && idempotencyKey === undefined) void call[1].header(SHOULD_RETRY_HEADER, "false");
      if (isStream) creating.listening = bufferLiveFeed({ connection: broker.main, onError }, ref);
      asked.onCreating?.(ref, asUnixMs(requestedAt.getTime()));
      return undefined;
    },
  };
}

/**
 * Queues the job. From here on the generation may exist.
 * @throws RepriseError `broker_unavailable`
 */
export function enqueue(ports: {
  readonly log: Pick<GenerationLog, "publish" | "budgetMs">;
  readonly traces: Pick<RequestTraces, "spanOf">;
  readonly tracing: Pick<Tracing, "start">;
}): Step {
  const { log, traces, tracing } = ports;
  return {
    name: "enqueue",
    isFinal: true,
    async run(creating) {
      const { asked, ref, request } = creating;
      const { call, principal } = asked;
      const { payload } = encodedOf(creating);
      const { slots, storedAtUs } = principal;
      const sending = call ? startSend(creating) : NO_SPAN;
      const { duplicate } = await inSpan(sending, () =>
        enqueueJob(log.publish, {
          model: request.model,
          ref,
          priority: request.priority,
          payload,
          share: {
            weight: slots?.weight ?? 1,
            maxRunning: slots?.max ?? Number.POSITIVE_INFINITY,
            storedAtUs,
          },
          trace: sending.context && formatTraceparent(sending.context),
          budgetMs: log.budgetMs,
        }),
      );
      creating.isOthersJob = duplicate;
      return undefined;
    },
  };

  function startSend({ asked, ref: { generation }, request }: Creating): TraceSpan {
    return tracing.start("send jobs", {
      kind: "producer",
      parent: asked.call && traces.spanOf(asked.call[0]).context,
      attributes: {
        ...JOB_SPAN,
        [MESSAGING.operation]: "send",
        [MESSAGING.operationType]: "send",
        [MESSAGING.messageId]: generation,
        [REPRISE.generation]: generation,
        [REPRISE.model]: request.model,
      },
    });
  }
}

/**
 * Writes seq 0, or finds the one that another create with the same key, or a faster worker, has written.
 * @throws RepriseError `idempotency_conflict`, `generation_expired`, `generation_erased`, `broker_unavailable`
 */
export function begin(ports: {
  readonly log: Pick<GenerationLog, "publish" | "budgetMs" | "reader">;
  readonly broker: Pick<Broker, "main">;
  readonly limits: Pick<RequestLimits, "joined">;
  readonly onError: (error: unknown) => void;
}): Step {
  const { log, limits } = ports;
  return {
    name: "begin",
    async run(creating) {
      const { ref, request, tokens, isOthersJob: joined = false } = creating;
      const { requested, payload } = encodedOf(creating);
      const first = await writeRequested(creating, payload);
      if (joined) limits.joined(ref, tokens);
      // A worker that was faster has written what its job holds, which is ours too.
      if (Buffer.compare(first.payload, payload) === 0) {
        creating.created = { requested, joined, first };
        return undefined;
      }
      creating.found = toRequested(first.payload);
      const theirs = assertSameRequest(creating.found, request);
      creating.created = { requested: theirs, joined, first };
      return undefined;
    },
  };

  /** If the job is another create's, that one gets the time to write the seq 0 that belongs to it. */
  async function writeRequested(
    { ref, isOthersJob }: Creating,
    payload: Uint8Array,
  ): Promise<Created["first"]> {
    const begun = await beginLog({
      connection: ports.broker.main,
      onError: ports.onError,
      publish: log.publish,
      ref,
      payload,
      first: isOthersJob ? "wait" : "publish",
      read: () => log.reader.readFirst(ref),
      budgetMs: log.budgetMs,
    });
    return begun.kind === "found" ? begun.log : { payload, streamSeq: begun.streamSeq };
  }
}

function encodedOf({ encoded }: Creating): NonNullable<Creating["encoded"]> {
  if (!encoded) throw new Error("seq 0 is encoded by the step `encode`");
  return encoded;
}
