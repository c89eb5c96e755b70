import { isOut, type ReplicaRules, type ReplicaState, type ReplicaStates } from "./replica-state.ts";

export interface ReplicaWish {
  /** Those that have refused this very request: they are not asked again. */
  readonly tried: ReadonlySet<number>;
  /** Those on which earlier attempts of the generation have failed: others are better. */
  readonly avoid: ReadonlySet<number>;
  readonly nowMs: number;
  /** From 0 to 1. */
  readonly random: number;
  /** All servers, those first that hold the beginning of the prompt. Absent: that does not matter. */
  readonly order?: readonly number[] | undefined;
}

/** The factor by which a server may exceed its share for the sake of its cache. */
const BOUND = 1.25;

/** A measurement counts for half after so long: a server that was slow once is asked again. */
const HALF_LIFE_MS = 30_000;

/**
 * The server for a request: the first in its order that has room (consistent hashing with bounded loads), which one always has. Without an
 * order: of those that are in the one with the fewest requests, and of several the one that began its last answers sooner.
 * Its past is not held against it where no server is sound: then any is asked.
 * @returns undefined where each that could be asked has refused
 */
export function chooseReplica(
  states: ReplicaStates,
  wish: ReplicaWish,
  { ejectAfter }: Pick<ReplicaRules, "ejectAfter">,
): number | undefined {
  const replicas = eligible(states, wish, ejectAfter);
  return wish.order ? firstWithRoom(states, replicas, wish.order) : leastLoaded(states, replicas, wish);
}

/** The servers that may be asked, by their places. */
function eligible(
  states: ReplicaStates,
  { tried, avoid, nowMs }: ReplicaWish,
  ejectAfter: number,
): readonly number[] {
  const isSound = states.some((state) => mayBeAsked(state) && state.failures < ejectAfter);
  const left = [...states.keys()].filter((i) => !tried.has(i) && (!isSound || mayBeAsked(states[i]!)));
  const others = preferred(left, (i) => !avoid.has(i));
  return preferred(others, (i) => states[i]!.busyUntilMs <= nowMs);
}

function mayBeAsked(state: ReplicaState): boolean {
  return state.standing.kind === "trial" ? state.inFlight === 0 : !isOut(state);
}

function preferred(replicas: readonly number[], isBetter: (replica: number) => boolean): readonly number[] {
  const better = replicas.filter(isBetter);
  return better.length > 0 ? better : replicas;
}

function firstWithRoom(
  states: ReplicaStates,
  replicas: readonly number[],
  order: readonly number[],
): number | undefined {
  const total = replicas.reduce((sum, i) => sum + states[i]!.inFlight, 0);
  const most = mostInFlight(total, replicas.length);
  return order.find((i) => replicas.includes(i) && states[i]!.inFlight < most);
}

/** The most requests that a server may have, with one more request than now. */
export function mostInFlight(total: number, replicas: number): number {
  return Math.ceil((BOUND * (total + 1)) / replicas);
}

function leastLoaded(
  states: ReplicaStates,
  replicas: readonly number[],
  { nowMs, random }: Pick<ReplicaWish, "nowMs" | "random">,
): number | undefined {
  const bestBy = (of: readonly number[], measure: (state: ReplicaState) => number) => {
    const least = Math.min(...of.map((i) => measure(states[i]!)));
    return of.filter((i) => measure(states[i]!) === least);
  };
  const free = bestBy(replicas, ({ inFlight }) => inFlight);
  const fast = bestBy(free, (state) => expectedMs(state, nowMs));
  return fast[Math.floor(random * fast.length)];
}

function expectedMs({ firstBytesMs, measuredAtMs }: ReplicaState, nowMs: number): number {
  return firstBytesMs === 0 ? 0 : firstBytesMs * 2 ** ((measuredAtMs - nowMs) / HALF_LIFE_MS);
}
