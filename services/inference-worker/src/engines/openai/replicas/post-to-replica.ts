import { unixNow } from "@reprise/protocol";
import { type ServerRoute, EngineSilence, SILENT_MS } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { MAX_ERROR_BYTES, mayBeStream, toStatusError, parseRetryAfterMs } from "../errors/status-error.ts";
import type { BodyFor, ServerBody } from "../request/server-body.ts";
import type { RequestBody } from "../request/request-body.ts";
import type { ChatAnswer } from "../response/chat-stream.ts";
import type { PostOptions, UpstreamAnswer } from "../upstream.ts";
import type { Lease, ReplicaPool } from "./replica-pool.ts";
import type { ReplicaOutcome } from "./replica-state.ts";

const PATH = "/chat/completions";

export interface ReplicaPost extends PostOptions {
  readonly route?: ServerRoute | undefined;
  readonly affinityKey: string | undefined;
}

/**
 * Sends a request to one of the servers. One that has no room, or can't be reached, has not begun with it: then the next one is asked, each
 * once.
 * @throws EngineError, of several the one that is over first; what the body fails with; the signal's reason
 */
export async function postToReplica(
  pool: ReplicaPool,
  bodyFor: BodyFor,
  options: ReplicaPost,
): Promise<ChatAnswer> {
  const tried = new Set<number>();
  let refusal: EngineError | undefined;
  const { route, affinityKey } = options;
  const take = () => pool.take({ tried, route, affinityKey });
  for (let lease = take(); lease; lease = take()) {
    tried.add(lease.replica);
    const answer = await ask(lease, bodyFor, options);
    if (!(answer instanceof EngineError)) return answer;
    refusal = soonest(refusal, answer);
  }
  // Undefined never: of any servers one may be asked first.
  throw refusal ?? new EngineError("engine_unavailable", "No server can be asked.", { retry: "busy" });
}

/** @returns the error of a server that has not begun with the request */
async function ask(
  lease: Lease,
  bodyFor: BodyFor,
  { signal, traceparent }: ReplicaPost,
): Promise<ChatAnswer | EngineError> {
  let status: number | undefined;
  try {
    const answer = await post(lease, bodyFor(lease.replica), { signal, traceparent });
    ({ status } = answer);
    if (mayBeStream(answer)) return toChatAnswer(lease, answer, signal);
    try {
      const error = await toStatusError(answer, unixNow());
      signal.throwIfAborted();
      throw error;
    } finally {
      answer.release(false);
    }
  } catch (error) {
    lease.ended(outcomeOf(error, signal, status));
    if (signal.aborted || !(error instanceof EngineError) || error.retry !== "busy") throw error;
    return error;
  }
}

/** Sends the request, and again without a field if the server has refused that one. */
async function post({ upstream }: Lease, body: ServerBody, options: PostOptions): Promise<UpstreamAnswer> {
  let next: RequestBody = body;
  for (;;) {
    const answer = await upstream.post(PATH, next, options);
    if (answer.status < 400) {
      body.accepted();
      return answer;
    }
    const renewed = body.renew(answer.status, await answer.readStart(MAX_ERROR_BYTES));
    if (!renewed) return answer;
    answer.release(false);
    next = renewed;
  }
}

function toChatAnswer(lease: Lease, answer: UpstreamAnswer, signal: AbortSignal): ChatAnswer {
  return {
    body: tellFirst(answer.body, () => lease.began()),
    retryAfterMs: parseRetryAfterMs(answer.headers, unixNow()),
    release(complete, error) {
      answer.release(complete);
      lease.ended(complete ? { kind: "answered" } : outcomeOf(error, signal));
    },
  };
}

/** An iterator and no generator, which would cost every piece a round of promises. */
function tellFirst<T>(pieces: AsyncIterable<T>, onFirst: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = pieces[Symbol.asyncIterator]();
      let isFirst = true;
      return {
        next() {
          if (!isFirst) return iterator.next();
          isFirst = false;
          return iterator.next().then((result) => {
            if (result.done !== true) onFirst();
            return result;
          });
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function soonest(one: EngineError | undefined, other: EngineError): EngineError {
  return one && (one.retryAfterMs ?? 0) <= (other.retryAfterMs ?? 0) ? one : other;
}

/** A refusal of these: the server has another key or another model than it should have. Of others the request is at fault. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404]);
/** The pause of a busy server that does not state one, and the longest pause that a server may state. */
const BUSY_MS = 1_000;
const LONGEST_BUSY_MS = 10_000;

const LEFT: ReplicaOutcome = { kind: "left" };

/**
 * Returns the outcome for a server of a request that was not answered to its end.
 * @param error the failure; undefined if the reader has left
 * @param status of the answer; undefined if there was none
 */
function outcomeOf(
  error: unknown,
  signal: Pick<AbortSignal, "aborted" | "reason">,
  status?: number,
): ReplicaOutcome {
  const cause: unknown = signal.aborted ? signal.reason : error;
  // A policy may have less patience than the best of servers needs.
  if (cause instanceof EngineSilence)
    return cause.silentMs >= SILENT_MS ? { kind: "failed", because: cause.message } : LEFT;
  if (!(cause instanceof EngineError)) return LEFT;
  const { message: because, retry, retryAfterMs = BUSY_MS } = cause;
  if (status !== undefined && REFUSALS.has(status)) return { kind: "refused", because };
  if (retry === "never") return LEFT;
  if (retry !== "busy" || status === undefined) return { kind: "failed", because };
  return { kind: "busy", forMs: Math.min(retryAfterMs, LONGEST_BUSY_MS) };
}
