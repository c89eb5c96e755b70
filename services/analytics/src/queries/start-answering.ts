import { answerCalls, type Broker, type CallAnswer } from "@reprise/log";
import {
  ANALYTICS_CALLS,
  ANALYTICS_QUEUE,
  ANALYTICS_REQUESTS,
  type AnalyticsCall,
  type ErrorCode,
  analyticsCallSubject,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import { FairTurns } from "./fair-turns.ts";
import { createQueries, type QueriesOptions } from "./queries.ts";

export interface AnsweringOptions extends QueriesOptions {
  readonly connection: Broker["main"];
  /** Called for each answer. */
  readonly onAnswered: () => void;
  /** Called where the rows can't be read, beside the answer that says so. */
  readonly onUnreadable: (error: RepriseError) => void;
  readonly onError: (error: unknown) => void;
}

const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["archive_unavailable", "archive_corrupt"]);
/** The broker takes messages of 8 MiB. */
const MOST_CHARS = 4 * 1_024 * 1_024;

/** Answers the calls of `protocol`'s `analytics-call.ts` until it is disposed of, which waits for the answers under way. */
export function startAnswering(given: AnsweringOptions): AsyncDisposable {
  const { connection, onAnswered, onUnreadable, onError, ...options } = given;
  const queries = createQueries(options);
  const turns = new FairTurns();

  const answers: Record<AnalyticsCall, (request: unknown, untilMs: number) => Promise<object>> = {
    summary: (request, untilMs) =>
      queries.summary(parseWith(ANALYTICS_REQUESTS.summary, request, "request"), untilMs),
    timeseries: (request, untilMs) =>
      queries.timeseries(parseWith(ANALYTICS_REQUESTS.timeseries, request, "request"), untilMs),
    generations: (request) =>
      queries.generations(parseWith(ANALYTICS_REQUESTS.generations, request, "request")),
    budget: (request, untilMs) =>
      queries.budget(parseWith(ANALYTICS_REQUESTS.budget, request, "request"), untilMs),
    usage: (request, untilMs) =>
      queries.usage(parseWith(ANALYTICS_REQUESTS.usage, request, "request"), untilMs),
  };

  const answer = async (call: AnalyticsCall, request: unknown, untilMs: number) => {
    try {
      const answered = toPayload(await answers[call](request, untilMs));
      onAnswered();
      return answered;
    } catch (error) {
      if (!(error instanceof RepriseError && UNREADABLE.has(error.code))) throw error;
      onUnreadable(error);
      // A caller is not told where they are kept.
      throw new RepriseError(error.code, "The rows of analytics can't be read.");
    }
  };

  const stack = new AsyncDisposableStack();
  for (const call of ANALYTICS_CALLS) {
    stack.use(
      answerCalls({
        connection,
        subject: analyticsCallSubject(call),
        queue: ANALYTICS_QUEUE,
        answer: (request) => turns.run(tenantOf(request), (untilMs) => answer(call, request, untilMs)),
        onError,
      }),
    );
  }
  return stack;
}

/** The operator's questions about all tenants are those of a tenant of its own. */
function tenantOf(request: unknown): string {
  const isNamed = typeof request === "object" && request !== null && "tenant" in request;
  return isNamed && typeof request.tenant === "string" ? request.tenant : "";
}

function toPayload(answer: object): CallAnswer {
  const payload = JSON.stringify(answer);
  if (payload.length <= MOST_CHARS) return { payload };
  const message = `limit: the answer has ${payload.length} characters, and ${MOST_CHARS} are the limit. Ask for less.`;
  throw new RepriseError("invalid_request", message, { param: "limit" });
}
