import { parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { type AdminContext, openCall } from "../admin/admin-call.ts";
import { noQuery } from "../routes/query-params.ts";
import type { ScaleReport } from "./scale-watch.ts";

export const SCALE_PATH = "/v1/ops/scale";

/** What a scaler asks for: of all tenants, so the operator's alone. */
export function addScaleRoute(app: FastifyInstance, context: AdminContext): void {
  const config = { administers: true, operatorDoes: "asks how many workers and nodes are wanted" } as const;
  app.get(SCALE_PATH, { config }, async (request, reply) => {
    openCall(context, request, reply).assertOperator(config.operatorDoes);
    parseWith(noQuery, request.query, "query");
    return toAnswer(await context.scale.report());
  });
}

function toAnswer({ at, observation, plan }: ScaleReport) {
  const models = [...plan.models].map(([model, planned]) => {
    const { queued, oldestMs, workers, slots, running } = observation.models.get(model)!;
    return {
      model,
      queued,
      oldest_ms: Math.round(oldestMs),
      workers,
      slots,
      running,
      wanted_workers: planned.wantedWorkers,
      because: planned.because,
      arrivals_per_second: round(planned.arrivalsPerSecond),
      service_ms: Math.round(planned.serviceMs),
      load: round(planned.load),
      slots_for_load: planned.slotsForLoad,
      slots_for_backlog: round(planned.slotsForBacklog),
      slots_per_worker: round(planned.slotsPerWorker),
    };
  });
  const { nodes, readers, cpu } = observation.delivery;
  const { wantedNodes, because } = plan.delivery;
  return {
    object: "scale",
    at: at.toISOString(),
    models,
    delivery: { nodes, readers, cpu: round(cpu), wanted_nodes: wantedNodes, because },
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
