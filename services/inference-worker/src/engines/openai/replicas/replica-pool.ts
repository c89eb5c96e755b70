import type { ReplicaObserver, ReplicaView, Server, ServerRoute } from "../../engine.ts";
import { createUpstream, type Upstream, type UpstreamOptions } from "../upstream.ts";
import { chooseReplica } from "./choose-replica.ts";
import { rendezvousOrder } from "./affinity.ts";
import {
  isOut,
  NEW_REPLICA,
  nextReplicas,
  type ReplicaEvent,
  type ReplicaOutcome,
  type ReplicaRules,
  type ReplicaStates,
} from "./replica-state.ts";

export interface HealthOptions extends Partial<ReplicaRules> {
  /** The path of the health probe, relative to the base URL. Default `/models`. */
  readonly path?: string | undefined;
  /** Default 5 s. */
  readonly intervalMs?: number | undefined;
}

export interface PoolOptions extends Omit<UpstreamOptions, "baseUrl"> {
  /** At least one, none twice. */
  readonly baseUrls: readonly string[];
  readonly health?: HealthOptions | undefined;
  /** True if requests with the same key share a server, while that has room. Default true. */
  readonly hasAffinity?: boolean | undefined;
}

export interface TakeOptions {
  /** Servers that have refused this very request. */
  readonly tried: ReadonlySet<number>;
  readonly route?: ServerRoute | undefined;
  /** Common to requests whose prompts begin alike. Absent: any server will do. */
  readonly affinityKey: string | undefined;
}

/** A request at a server. `ended` is to be called once. */
export interface Lease {
  readonly replica: number;
  readonly upstream: Upstream;
  /** The first bytes of the answer have come. */
  began(): void;
  ended(outcome: ReplicaOutcome): void;
}

export interface ReplicaPool {
  readonly servers: readonly Server[];
  readonly upstreams: readonly Upstream[];
  /** True if the choice of the server matters for a request. */
  readonly hasAffinity: boolean;
  /** @returns undefined where each server that could be asked is among those that were tried */
  take(options: TakeOptions): Lease | undefined;
  views(): readonly ReplicaView[];
  observe(observer: ReplicaObserver): void;
  close(): Promise<void>;
}

const DEFAULT_PATH = "/models";
const DEFAULT_INTERVAL_MS = 5_000;
const DEFAULT_EJECT_AFTER = 3;
const DEFAULT_EJECT_MS = 10_000;
const NONE: ReadonlySet<string> = new Set();

/** Creates the pool of one model's servers. Of several, those without requests are probed; a single server always gets the requests, even after failures. */
export function createReplicaPool(poolOptions: PoolOptions): ReplicaPool {
  const { baseUrls, health = {}, hasAffinity = true, ...options } = poolOptions;
  const { path = DEFAULT_PATH, intervalMs = DEFAULT_INTERVAL_MS } = health;
  const { ejectAfter = DEFAULT_EJECT_AFTER, ejectMs = DEFAULT_EJECT_MS } = health;
  const rules = { ejectAfter, ejectMs };
  const servers = baseUrls.map(toServer);
  const upstreams = baseUrls.map((baseUrl) => createUpstream({ ...options, baseUrl }));
  const closing = new AbortController();
  let states: ReplicaStates = baseUrls.map(() => NEW_REPLICA);
  let observer: ReplicaObserver | undefined;

  function happened(event: ReplicaEvent): void {
    const before = states[event.replica]!;
    states = nextReplicas(states, event, performance.now(), rules);
    const after = states[event.replica]!;
    if (event.kind === "ended") observer?.onEnded(event.replica, event.outcome.kind);
    if (before.standing === after.standing) return;
    if (after.standing.kind === "out") observer?.onEjected(event.replica, after.standing.because);
    else if (isOut(before)) observer?.onBack(event.replica);
  }

  async function probeAll(): Promise<void> {
    const idle = [...states.keys()].filter((i) => isOut(states[i]!) || states[i]!.inFlight === 0);
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(Math.max(intervalMs, 1_000))]);
    await Promise.all(
      idle.map(async (replica) => {
        const because = await probe(upstreams[replica]!, path, signal);
        if (!closing.signal.aborted) happened({ kind: "probed", replica, because });
      }),
    );
    if (!closing.signal.aborted) schedule();
  }

  let timer: NodeJS.Timeout | undefined;
  const schedule = () => (timer = setTimeout(() => void probeAll(), intervalMs).unref());
  if (baseUrls.length > 1) schedule();

  return {
    servers,
    upstreams,
    hasAffinity: hasAffinity && baseUrls.length > 1,
    take({ tried, route, affinityKey }) {
      const avoided = route?.avoid ?? NONE;
      const avoid = new Set([...servers.keys()].filter((i) => avoided.has(servers[i]!.id)));
      const order = affinityKey === undefined ? undefined : rendezvousOrder(affinityKey, baseUrls);
      const wish = { tried, avoid, nowMs: performance.now(), random: Math.random(), order };
      const replica = chooseReplica(states, wish, rules);
      if (replica === undefined) return undefined;
      const askedMs = performance.now();
      happened({ kind: "asked", replica });
      route?.took(servers[replica]!);
      return {
        replica,
        upstream: upstreams[replica]!,
        began: () => happened({ kind: "began", replica, waitedMs: performance.now() - askedMs }),
        ended: (outcome) => happened({ kind: "ended", replica, outcome }),
      };
    },
    views: () => states.map((state) => ({ inFlight: state.inFlight, isEjected: isOut(state) })),
    observe(next) {
      observer = next;
      for (const [i, { standing }] of states.entries())
        if (standing.kind === "out") next.onEjected(i, standing.because);
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    },
  };
}

function toServer(baseUrl: string): Server {
  const { hostname: host, protocol, port } = new URL(baseUrl);
  return { id: baseUrl, host, port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

/**
 * Asks a server whether it is there. Any answer but a failure of its own will do: not all servers have the path.
 * @returns why it is not; undefined where it is
 */
async function probe(
  upstream: Pick<Upstream, "get">,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const answer = await upstream.get(path, signal);
    answer.release(false);
    return answer.status >= 500 ? `The probe was answered ${answer.status}.` : undefined;
  } catch (error) {
    if (signal.aborted) return "The probe was not answered in time.";
    return error instanceof Error ? error.message : "The probe has failed.";
  }
}
