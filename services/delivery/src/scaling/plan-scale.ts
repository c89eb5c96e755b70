import { type DeliveryObservation, type DeliveryPlan, planDelivery } from "./plan-delivery.ts";
import { type ModelObservation, type ModelState, planWorkers, type WorkerPlan } from "./plan-workers.ts";
import type { ScaleSettings } from "./scale-settings.ts";
import type { Wanted } from "./stabilise.ts";

export { SCALE_DEFAULTS, type ScaleSettings, type WorkerScaling } from "./scale-settings.ts";
export type { DeliveryObservation, ModelObservation, WorkerPlan };

export interface ScaleState {
  readonly models: ReadonlyMap<string, ModelState>;
  /** Undefined before the first observation. */
  readonly delivery: Wanted | undefined;
}

export interface ScaleObservation {
  /** By public model name. A model that is not there any more is forgotten. */
  readonly models: ReadonlyMap<string, ModelObservation>;
  readonly delivery: DeliveryObservation;
}

export interface ScalePlan {
  readonly models: ReadonlyMap<string, WorkerPlan>;
  readonly delivery: DeliveryPlan;
}

export const NO_SCALE_STATE: ScaleState = { models: new Map(), delivery: undefined };

/**
 * How many workers and nodes are wanted now: see docs/scaling.md.
 * @param nowMs by a clock that never goes back
 */
export function planScale(
  state: ScaleState,
  observation: ScaleObservation,
  nowMs: number,
  settings: ScaleSettings,
): { state: ScaleState; plan: ScalePlan } {
  const models = new Map<string, ModelState>();
  const plans = new Map<string, WorkerPlan>();
  for (const [model, seen] of observation.models) {
    const next = planWorkers(state.models.get(model), seen, nowMs, settings.workers);
    models.set(model, next.state);
    plans.set(model, next.plan);
  }
  const delivery = planDelivery(state.delivery, observation.delivery, nowMs, settings.delivery);
  return {
    state: { models, delivery: delivery.state },
    plan: { models: plans, delivery: delivery.plan },
  };
}
