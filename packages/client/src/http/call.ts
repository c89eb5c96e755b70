import { type Generation, RepriseError, toRepriseError } from "@reprise/protocol/wire";
import { type HttpRequest, type HttpSettings, openExchange } from "./http.ts";
import { type FailureRun, planRetry } from "../retry/retry-policy.ts";
import { waitForRetry } from "../retry/retry-wait.ts";

/**
 * Makes an attempt, and another one after every error that is retryable.
 * @throws RepriseError the server's own, or `connection_lost` with the last failure as its cause; the signal's reason
 */
export async function retried<T>(
  { runtime, retry: policy }: HttpSettings,
  attempt: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  let failures: FailureRun | undefined;
  for (;;) {
    try {
      return await attempt(signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const error = toRepriseError(thrown);
      const context = { policy, nowMs: runtime.now(), floorMs: 0, random: runtime.random() };
      const plan = planRetry(error, failures, context);
      if (plan.type === "fail") throw plan.error;
      const woken = await waitForRetry(plan.delay, runtime, signal);
      failures = woken ? undefined : plan.failures;
    }
  }
}

/**
 * A call that answers with JSON, or with nothing. It is repeated after every error that is retryable, so only calls that may arrive twice are
 * made this way.
 * @throws RepriseError as `retried`
 */
export function callJson(
  settings: HttpSettings,
  request: HttpRequest,
  signal?: AbortSignal,
): Promise<unknown> {
  const headers = { ...request.headers, accept: "application/json" };
  const attempt = async (running: AbortSignal) => {
    const exchange = await openExchange(settings, { ...request, headers }, running);
    try {
      if (exchange.status > 299) throw await exchange.error();
      return parseAnswer(await exchange.text());
    } finally {
      exchange.close();
    }
  };
  return retried(settings, attempt, signal);
}

/** The same where the answer is a generation: a create always carries an Idempotency-Key. */
export async function callGeneration(
  settings: HttpSettings,
  request: HttpRequest,
  signal?: AbortSignal,
): Promise<Generation> {
  const value = (await callJson(settings, request, signal)) as Partial<Generation> | null | undefined;
  if (typeof value?.id === "string") return value as Generation;
  throw new RepriseError("protocol_violation", "The answer is not a generation.");
}

/** Sends what nothing depends on: tried once, and no failure is told. */
export async function sendOnce(settings: HttpSettings, request: HttpRequest): Promise<void> {
  try {
    (await openExchange(settings, request, new AbortController().signal)).close();
  } catch {
    // Nothing is lost with it but a measurement.
  }
}

function parseAnswer(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new RepriseError("protocol_violation", "The answer is not JSON.", { cause });
  }
}
