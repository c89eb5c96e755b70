import * as conversations from "@reprise/conversations";
import {
  effectiveRequest,
  findOrphan,
  type GenerationId,
  type GenerationRef,
  needsOf,
  RepriseError,
  type RequestedEvent,
  settlePrompt,
  toRepriseError,
  toStoredNeeds,
  waitsOf,
} from "@reprise/protocol";
import type { RunContext } from "./run-context.ts";

/** The turn that is waited for at the moment. */
export type Waiting = Exclude<conversations.WaitedTurns, { kind: "ended" }>;

export interface Wait {
  readonly kind: "wait";
  /** All turns that have to end before. */
  readonly generations: readonly GenerationId[];
  readonly waiting: Waiting;
}

export type SettledRequest =
  | { readonly kind: "ready"; readonly requested: RequestedEvent }
  | Wait
  /** It can't be run. */
  | { readonly kind: "fail"; readonly error: RepriseError };

/**
 * Returns a request as its engine gets it. If the turn was created while others were active, or while turns were summarized, the prompt is made here, after
 * those have ended: by the
 * same function in every worker, from the same logs.
 * @throws RepriseError `broker_unavailable`
 */
export async function settleRequest(
  { log }: Pick<RunContext, "log">,
  { tenant }: Pick<GenerationRef, "tenant">,
  requested: RequestedEvent,
): Promise<SettledRequest> {
  const generations = waitsOf(requested);
  if (generations.length === 0) return { kind: "ready", requested };
  try {
    const waited = await conversations.readWaitedTurns(log, tenant, generations);
    if (waited.kind !== "ended") return { kind: "wait", generations, waiting: waited };
    const { prompt } = settlePrompt(requested, waited.turns);
    assertAnswers(prompt, requested);
    const settled = { ...requested, prompt: [...prompt] };
    // What earlier turns have said is known only now: calls of tools, where another model has made them.
    const needs = new Set([
      ...(requested.needs ?? []),
      ...(toStoredNeeds(needsOf(effectiveRequest(settled))) ?? []),
    ]);
    return { kind: "ready", requested: { ...settled, needs: [...needs] } };
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.retryable) throw error;
    return { kind: "fail", error };
  }
}

function assertAnswers(prompt: NonNullable<RequestedEvent["prompt"]>, { request }: RequestedEvent): void {
  const at = findOrphan(prompt, request.input);
  if (at === undefined) return;
  const param = `input.${at}.call_id`;
  throw new RepriseError("invalid_request", `${param}: names no call that waits for an answer`, { param });
}
