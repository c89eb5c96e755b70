import { type DependencyWatches, type Metrics, WatchGroup } from "@reprise/runtime";
import type { Engine, ReplicaView } from "../../engines/engine.ts";
import type { ServedModel } from "../../model-queues.ts";

interface Member {
  /** The public name of the model that the servers have. */
  readonly model: string;
  readonly replicas: NonNullable<Engine["replicas"]>;
}

type Labels = { readonly model: string; readonly replica: string };

/**
 * Tells operators of the servers that engines choose among: by their places in the configuration, for a URL may hold a secret. A model's own
 * engine and those in which it is another one's fallback are counted as one.
 */
export class ReplicaReports {
  readonly #metrics: Metrics;
  readonly #watches: WatchGroup;
  readonly #names = new Map<string, Record<string, unknown>>();
  #members: readonly Member[] = [];

  constructor(watches: DependencyWatches, metrics: Metrics) {
    this.#metrics = metrics;
    this.#watches = new WatchGroup(watches, (name) => ({
      name: `replica:${name}`,
      gone: "a server of a model is ejected: it gets no requests for now",
      back: "a server of a model gets requests again",
      fields: this.#names.get(name) ?? {},
      // Each ejection has lasted for long enough to be told.
      reports: "changes",
      graceMs: 0,
      holdOffMs: 0,
    }));
    metrics.observeEach("reprise_engine_replica_in_flight", () =>
      this.#series((before, { inFlight }) => before + inFlight),
    );
    metrics.observeEach("reprise_engine_replica_ejected", () =>
      this.#series((before, { isEjected }) => Math.max(before, Number(isEjected))),
    );
  }

  /** These from now on: what engines that were replaced still do is told no more. */
  serve(models: ReadonlyMap<string, ServedModel>): void {
    for (const { replicas } of this.#members) replicas.observe(SILENT);
    this.#members = [...models].flatMap(([model, { engine, fallback }]) => [
      ...toMembers(model, engine),
      ...(fallback ? toMembers(fallback.model, fallback.engine) : []),
    ]);
    this.#names.clear();
    for (const { model, replicas } of this.#members)
      for (const [replica, { host, port }] of replicas.servers.entries())
        this.#names.set(nameOf(model, replica), { model, replica, server: `${host}:${port}` });
    // Under the same name there may be another server now.
    this.#watches.keep([]);
    this.#watches.keep(this.#names.keys());
    for (const { model, replicas } of this.#members) this.#observe(model, replicas);
  }

  #observe(model: string, replicas: Member["replicas"]): void {
    const requests = this.#metrics.counter("reprise_engine_replica_requests_total");
    replicas.observe({
      onEnded: (replica, outcome) => requests.inc({ model, replica: String(replica), outcome }),
      onEjected: (replica, because) => this.#watches.of(nameOf(model, replica)).failed(because),
      onBack: (replica) => this.#watches.of(nameOf(model, replica)).worked(),
    });
  }

  #series(add: (before: number, view: ReplicaView) => number): Iterable<readonly [Labels, number]> {
    const series = new Map<string, readonly [Labels, number]>();
    for (const { model, replicas } of this.#members)
      for (const [i, view] of replicas.views().entries()) {
        const name = nameOf(model, i);
        const before = series.get(name)?.[1] ?? 0;
        series.set(name, [{ model, replica: String(i) }, add(before, view)]);
      }
    return series.values();
  }
}

const SILENT = { onEnded: () => undefined, onEjected: () => undefined, onBack: () => undefined };

function toMembers(model: string, { replicas }: Engine): Member[] {
  return replicas ? [{ model, replicas }] : [];
}

function nameOf(model: string, replica: number): string {
  return `${model}:${replica}`;
}
