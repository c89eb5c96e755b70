import { answerCalls, type Broker } from "@reprise/broker";
import {
  ANALYTICS_CALLS,
  ANALYTICS_QUEUE,
  ANALYTICS_REQUESTS,
  type AnalyticsCall,
  analyticsCallSubject,
  parseWith,
} from "@reprise/protocol";

export interface AnalyticsQuestion {
  readonly call: AnalyticsCall;
  readonly request: unknown;
}

/** Fakes the service analytics, with the calls of `analytics-call.ts`. The test gives the answers, until the connection closes. */
export async function startFakeAnalytics(
  { main: connection }: Pick<Broker, "main">,
  answer: (question: AnalyticsQuestion) => object | Promise<object>,
): Promise<readonly AnalyticsQuestion[]> {
  const asked: AnalyticsQuestion[] = [];
  for (const call of ANALYTICS_CALLS)
    answerCalls({
      connection,
      subject: analyticsCallSubject(call),
      queue: ANALYTICS_QUEUE,
      async answer(sent) {
        const { question: _, ...request } = sent as { readonly question?: string };
        parseWith<unknown>(ANALYTICS_REQUESTS[call], request, "request");
        const question = { call, request };
        asked.push(question);
        return { payload: JSON.stringify(await answer(question)) };
      },
      onError() {},
    });
  await connection.flush();
  return asked;
}
