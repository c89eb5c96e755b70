import type { Engine } from "@reprise/inference-worker-service";

/** The demo's view of an engine from inside the worker. */
export interface EngineWatch {
  /** Resolves when no request to the engine is open. */
  idle(): Promise<void>;
  /** When each piece of text left the engine, per request: its end in the whole text, and the time. */
  readonly pieces: { end: number; at: number }[][];
  /** The engine's last failure of its own. */
  readonly failure: Error | undefined;
}

/** The same engine, watched: when its tokens leave it, and when its requests begin and end. */
export function watchEngine(engine: Engine): { engine: Engine; watch: EngineWatch } {
  let open = 0;
  const waiting: (() => void)[] = [];
  let failure: Error | undefined;
  const watch: EngineWatch = {
    pieces: [],
    get failure() {
      return failure;
    },
    idle: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
  const watched: Engine = {
    ...engine,
    async *generate(request, options) {
      const pieces: { end: number; at: number }[] = [];
      watch.pieces.push(pieces);
      open++;
      try {
        for await (const event of engine.generate(request, options)) {
          if (event.type === "text")
            pieces.push({ end: (pieces.at(-1)?.end ?? 0) + event.text.length, at: performance.now() });
          yield event;
        }
      } catch (thrown) {
        if (thrown instanceof Error && !options.signal.aborted) failure = thrown;
        throw thrown;
      } finally {
        open--;
        if (open === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    },
  };
  return { engine: watched, watch };
}
