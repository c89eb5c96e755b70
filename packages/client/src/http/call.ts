import { type Generation, RepriseError, toRepriseError } from "@reprise/protocol/wire";
import { type HttpRequest, type HttpSettings, openExchange } from "./http.ts";
import { type FailureRun, planRetry } from "../retry/retry-policy.ts";
import { waitForRetry } from "../retry/retry-wait.ts";

/**
 * A call that answers with a generation. It is repeated after every error that is retryable, so only calls that may arrive
 * twice are made this way: a create always carries an Idempotency-Key.
 * @throws RepriseError the server's own, or `connection_lost` with the last failure as its cause; the signal's reason
 */
export async function callGeneration(
  settings: HttpSettings,
  request: HttpRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<Generation> {
  const { runtime, retry: policy } = settings;
  let failures: FailureRun | undefined;
  for (;;) {
    try {
      return await tryCall(settings, request, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const error = toRepriseError(thrown);
      const context = { policy, nowMs: runtime.now(), floorMs: 0, random: runtime.random() };
      const plan = planRetry(error, failures, context);
      if (plan.type === "give_up") throw plan.error;
      const woken = await waitForRetry(plan.delay, runtime, signal);
      failures = woken ? undefined : plan.failures;
    }
  }
}

/** Sends what nothing depends on: tried once, and no failure is told. */
export async function sendOnce(settings: HttpSettings, request: HttpRequest): Promise<void> {
  try {
    (await openExchange(settings, request, new AbortController().signal)).close();
  } catch {
    // Nothing is lost with it but a measurement.
  }
}

async function tryCall(
  settings: HttpSettings,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Generation> {
  const headers = { ...request.headers, accept: "application/json" };
  const exchange = await openExchange(settings, { ...request, headers }, signal);
  try {
    if (exchange.status !== 200 && exchange.status !== 201) throw await exchange.error();
    return parseGeneration(await exchange.text());
  } finally {
    exchange.close();
  }
}

function parseGeneration(text: string): Generation {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RepriseError("protocol_violation", "The answer is not JSON.", { cause });
  }
  if (typeof (value as Partial<Generation> | null)?.id === "string") return value as Generation;
  throw new RepriseError("protocol_violation", "The answer is not a generation.");
}
