import type { DeliveryScaling } from "./scale-settings.ts";
import { stabilise, type Wanted } from "./stabilise.ts";

/** All nodes of delivery at one moment. */
export interface DeliveryObservation {
  readonly nodes: number;
  readonly readers: number;
  /** Cores that all of them use together. */
  readonly cpu: number;
}

export interface DeliveryPlan {
  readonly wantedNodes: number;
  readonly because: "readers" | "cpu" | "stabilisation" | "min" | "max";
}

/** How many nodes are needed so that each has its share of the readers, and uses its share of a core. */
export function planDelivery(
  earlier: Wanted | undefined,
  { nodes, readers, cpu }: DeliveryObservation,
  nowMs: number,
  settings: DeliveryScaling,
): { state: Wanted; plan: DeliveryPlan } {
  const { min, max } = settings;
  const forReaders = Math.ceil(readers / settings.readersPerNode);
  const forCpu = Math.ceil(cpu / settings.cpu);
  const needed = Math.min(max, Math.max(forReaders, forCpu));
  // As with workers: what there is counts as needed, at first.
  const state = stabilise(
    earlier ?? [{ atMs: nowMs, count: nodes }],
    needed,
    nowMs,
    settings.stabilisationMs,
  );
  const most = state[0]?.count ?? needed;
  const reason = (): DeliveryPlan["because"] => {
    if (most <= min && needed < min) return "min";
    if (Math.max(forReaders, forCpu) > max) return "max";
    if (most > needed) return "stabilisation";
    return forReaders >= forCpu ? "readers" : "cpu";
  };
  return { state, plan: { wantedNodes: Math.min(max, Math.max(min, most)), because: reason() } };
}
