import { effectiveRequest, RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { createGeneration } from "../domain/create-generation.ts";
import { type Call, reservationOf } from "../limits/request-limits.ts";
import { assertModel } from "../models/assert-model.ts";
import { prepareRequest } from "../models/prepare-request.ts";
import type { RouteContext } from "../routes/context.ts";
import type { PlannedSummary } from "./plan-summary.ts";

/**
 * Creates the generation that sums up turns, or finds it. It counts as one more call of the turn's caller, with a generation of its own.
 * @returns false where it is refused: the turn has to do without
 * @throws RepriseError `broker_unavailable`
 */
export async function createSummary(
  context: RouteContext,
  { principal, call }: { readonly principal: Principal; readonly call: Call },
  planned: PlannedSummary,
): Promise<boolean> {
  const { broker, log, ruleSets, shards, limits, budgets, logger } = context;
  const { request, prompt, context: place } = planned;
  const { tenant, policy, slots, storedAtUs } = principal;
  // Nobody reads it.
  const { on_disconnect: _, pace: __, ...tenantPolicy } = policy;
  const { model } = request;
  const tokens = reservationOf(request);
  const now = new Date();
  const onError = (err: unknown) => logger.error({ err }, "a callback failed");
  try {
    assertModel(context, principal, model);
    const charges = budgets.chargesOf(principal, model, now);
    const { joined } = await createGeneration({
      log,
      ruleSets,
      checkRules: (whose, rules) => context.ruleChecks.checkRequested(whose, rules),
      classifiers: context.classifiers(),
      shards,
      tenant,
      tenantPolicy,
      share: {
        weight: slots?.weight ?? 1,
        maxRunning: slots?.max ?? Number.POSITIVE_INFINITY,
        storedAtUs,
      },
      request,
      prepare: () =>
        prepareRequest(context, request, principal, async () => ({
          additions: { prompt, context: place },
          known: prompt,
          media: {},
        })),
      reserve: ({ ref, requested }) => budgets.reserve(ref, charges, effectiveRequest(requested)),
      idempotencyKey: planned.key,
      joinOnly: false,
      async admit(created) {
        if (!created) return;
        const { generation } = created;
        await limits.create(call, principal, {
          endUser: request.end_user,
          generation,
          tokens,
          isStream: false,
        });
      },
      onAbandoned(created) {
        limits.abandoned(created, tokens);
        budgets.abandoned(created, charges);
      },
      traceparent: context.traces.traceparentOf(call[0]),
      budgets: charges,
      now,
      connection: broker.main,
      onError,
    });
    if (!joined) context.readerMetrics.created(model);
    return true;
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code === "broker_unavailable") throw error;
    const { code } = error;
    logger.info({ tenant, code }, "a conversation has no summary; its oldest turns are left out");
    return false;
  }
}
