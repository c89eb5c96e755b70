import { answerCalls, type Broker, type CallAnswer } from "@reprise/broker";
import {
  ANALYTICS_CALLS,
  ANALYTICS_QUEUE,
  ANALYTICS_REQUESTS,
  type AnalyticsCall,
  type ErrorCode,
  analyticsCallSubject,
  isTenantId,
  parseWith,
  RepriseError,
  type TenantId,
  toRepriseError,
} from "@reprise/protocol";
import { AskedQuestions } from "./asked-questions.ts";
import { FailedQuestions } from "./failed-questions.ts";
import { FairSemaphore, OPERATOR } from "./fair-semaphore.ts";
import { createQueries, type QueriesOptions } from "./queries.ts";

export interface AnsweringOptions extends QueriesOptions {
  readonly connection: Broker["main"];
  /** Up to when rows are whole that are read from now on. RFC 3339; null where it is not known. */
  readonly completeUntil: (asked: { readonly withDelivery: boolean }) => Promise<string | null>;
  /** Milliseconds until a question is tried again whose rows could not be read. Default 15 s. */
  readonly askAgainMs?: number;
  /** Called after each question is answered, with any result. */
  readonly onAsked?: ((question: AnsweredQuestion) => void) | undefined;
  /** Called for each answer, once every question has one that rows could not be read for. */
  readonly onAnswered: () => void;
  /** Called where the rows can't be read, beside the answer that says so. */
  readonly onUnreadable: (error: RepriseError) => void;
  readonly onError: (error: unknown) => void;
}

/** Nothing in it is the caller's own text. */
export interface AnsweredQuestion {
  readonly call: AnalyticsCall;
  /** Undefined where the question names none, or no valid one: the operator's are of all tenants. */
  readonly tenant: TenantId | undefined;
  readonly ms: number;
  /** `ok`, or the error's code. */
  readonly result: "ok" | ErrorCode;
}

const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["archive_unavailable", "archive_corrupt"]);
/** The broker takes messages of 8 MiB. */
const MOST_CHARS = 4 * 1_024 * 1_024;

/** Answers the calls of `protocol`'s `analytics-call.ts` until it is disposed of, which waits for the answers under way. */
export function startAnswering(given: AnsweringOptions): AsyncDisposable {
  const { connection, completeUntil, askAgainMs, onAsked, onAnswered, onUnreadable, onError, ...options } =
    given;
  const queries = createQueries(options);
  const semaphore = new FairSemaphore();

  const answers: Record<AnalyticsCall, (request: unknown, signal: AbortSignal) => Promise<object>> = {
    summary: (request, signal) =>
      queries.summary(parseWith(ANALYTICS_REQUESTS.summary, request, "request"), signal),
    timeseries: (request, signal) =>
      queries.timeseries(parseWith(ANALYTICS_REQUESTS.timeseries, request, "request"), signal),
    generations: (request, signal) =>
      queries.generations(parseWith(ANALYTICS_REQUESTS.generations, request, "request"), signal),
    budget: (request, signal) =>
      queries.budget(parseWith(ANALYTICS_REQUESTS.budget, request, "request"), signal),
    usage: (request, signal) =>
      queries.usage(parseWith(ANALYTICS_REQUESTS.usage, request, "request"), signal),
  };

  const stack = new AsyncDisposableStack();
  const asked = stack.use(new AskedQuestions(connection, onError));
  const failed = stack.use(
    new FailedQuestions({
      async askAgain(question) {
        const { call, request } = JSON.parse(question) as { call: AnalyticsCall; request: unknown };
        try {
          await semaphore.run(OPERATOR, (signal) => answers[call](request, signal));
        } catch (error) {
          if (!(error instanceof RepriseError)) onError(error);
          else if (UNREADABLE.has(error.code)) onUnreadable(error);
          else return !error.retryable;
          return false;
        }
        return true;
      },
      onAnswered,
      ...(askAgainMs !== undefined && { pauseMs: askAgainMs }),
    }),
  );

  const answer = async (call: AnalyticsCall, request: unknown, signal: AbortSignal) => {
    const question = JSON.stringify({ call, request });
    try {
      // Before rows are read: what is committed meanwhile may be in them or not.
      const until = await completeUntil({ withDelivery: readsDeliveries(call, request) });
      const answered = toPayload({ ...(await answers[call](request, signal)), complete_until: until });
      failed.answered(question);
      return answered;
    } catch (error) {
      if (!(error instanceof RepriseError && UNREADABLE.has(error.code))) throw error;
      failed.failed(question);
      onUnreadable(error);
      // A caller is not told where they are kept.
      throw new RepriseError(error.code, "The rows of analytics can't be read.");
    }
  };

  const noted = async (call: AnalyticsCall, sent: unknown, work: () => Promise<CallAnswer>) => {
    const askedAtMs = performance.now();
    let result: AnsweredQuestion["result"] = "ok";
    try {
      return await work();
    } catch (error) {
      result = toRepriseError(error).code;
      throw error;
    } finally {
      const [tenant, ms] = [tenantOf(sent), Math.round(performance.now() - askedAtMs)];
      onAsked?.({ call, tenant: isTenantId(tenant) ? tenant : undefined, ms, result });
    }
  };

  for (const call of ANALYTICS_CALLS) {
    stack.use(
      answerCalls({
        connection,
        subject: analyticsCallSubject(call),
        queue: ANALYTICS_QUEUE,
        answer: (sent) =>
          noted(call, sent, () =>
            asked.answer(sent, (request, hungUp) =>
              semaphore.run(tenantOf(request), (signal) => answer(call, request, signal), hungUp),
            ),
          ),
        onError,
      }),
    );
  }
  return stack;
}

function tenantOf(request: unknown): string {
  const isNamed = typeof request === "object" && request !== null && "tenant" in request;
  return isNamed && typeof request.tenant === "string" ? request.tenant : OPERATOR;
}

/** True if an answer depends on the deliveries of generations. */
function readsDeliveries(call: AnalyticsCall, request: unknown): boolean {
  if (call !== "usage" && call !== "timeseries") return true;
  const by = typeof request === "object" && request !== null && "by" in request ? request.by : undefined;
  return Array.isArray(by) && by.includes("read");
}

function toPayload(answer: object): CallAnswer {
  const payload = JSON.stringify(answer);
  if (payload.length <= MOST_CHARS) return { payload };
  const message = `limit: the answer has ${payload.length} characters, and ${MOST_CHARS} are the limit. Ask for less.`;
  throw new RepriseError("invalid_request", message, { param: "limit" });
}
