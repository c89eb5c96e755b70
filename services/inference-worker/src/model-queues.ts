import type { Puller } from "@reprise/jobs";
import type { Engine } from "./engines/engine.ts";

/** One model's engines, and how many generations of it this worker runs at a time. */
export interface ServedModel {
  readonly engine: Engine;
  readonly slots: number;
  /** The number of last free slots that are reserved for tenants below their share. Default: an eighth of the slots. */
  readonly reserve?: number;
  /** The fallback if `engine` fails: another model's public name, and an engine for it that belongs to this model. */
  readonly fallback?: { readonly model: string; readonly engine: Engine };
}

/** One of a model's engines: its own, or that of its fallback. */
export type EngineChoice = "primary" | "fallback";

export function engineOf({ engine, fallback }: ServedModel, choice: EngineChoice): Engine {
  return choice === "fallback" && fallback ? fallback.engine : engine;
}

interface Queue {
  readonly model: string;
  readonly puller: Puller;
  readonly served: ServedModel;
}

type Serve = (served: ServedModel, model: string) => Promise<Puller>;

/** The queues that a worker takes jobs from, one per model. */
export class ModelQueues {
  readonly #serve: Serve;
  #queues: readonly Queue[] = [];
  #retired: Promise<void>[] = [];

  private constructor(serve: Serve) {
    this.#serve = serve;
  }

  static async open(models: ReadonlyMap<string, ServedModel>, serve: Serve): Promise<ModelQueues> {
    const queues = new ModelQueues(serve);
    await queues.replace(models);
    return queues;
  }

  /**
   * Takes jobs for these models instead of the earlier ones, whose engines are closed when nothing runs on them any more. When
   * one of the new queues can't be opened, the earlier ones stay.
   */
  async replace(models: ReadonlyMap<string, ServedModel>): Promise<void> {
    const next: Queue[] = [];
    try {
      for (const [model, served] of models) {
        next.push({ model, puller: await this.#serve(served, model), served });
      }
    } catch (error) {
      this.#retired.push(...next.map(retire));
      throw error;
    }
    this.#retired.push(...this.#queues.map(retire));
    this.#queues = next;
  }

  /** Returns a value of each model's slots, with the labels of its metrics. Queues that were replaced are left out. */
  slots(
    count: (puller: Puller, served: ServedModel) => number,
  ): (readonly [{ model: string; engine: string }, number])[] {
    return this.#queues.map(({ model, puller, served }) => [
      { model, engine: served.engine.name },
      count(puller, served),
    ]);
  }

  /** Takes no more jobs. Resolves when nothing runs any more and the engines are closed. */
  async close(): Promise<void> {
    await Promise.all([...this.#retired, ...this.#queues.map(retire)]);
  }
}

/** Begun when the models are replaced, and awaited when the worker closes, whose caller gets what fails meanwhile. */
function retire({ puller, served }: Queue): Promise<void> {
  const gone = (async () => {
    puller.stop();
    await puller.idle();
    await Promise.all([served.engine.close(), served.fallback?.engine.close()]);
  })();
  gone.catch(() => {});
  return gone;
}
