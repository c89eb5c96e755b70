import type { Engine } from "@reprise/inference-worker";

/** What the demo sees of an engine from inside the worker. */
export interface EngineWatch {
  /** Requests to the engine that are open now. */
  open: number;
  /** When each piece of text left the engine, per request: its end in the whole text, and the time. */
  readonly pieces: { end: number; at: number }[][];
}

/** The same engine, watched: when its tokens leave it, and when its requests begin and end. */
export function watchEngine(engine: Engine): { engine: Engine; watch: EngineWatch } {
  const watch: EngineWatch = { open: 0, pieces: [] };
  const watched: Engine = {
    ...engine,
    async *generate(request, options) {
      const pieces: { end: number; at: number }[] = [];
      watch.pieces.push(pieces);
      watch.open++;
      try {
        for await (const event of engine.generate(request, options)) {
          if (event.type === "text")
            pieces.push({ end: (pieces.at(-1)?.end ?? 0) + event.text.length, at: performance.now() });
          yield event;
        }
      } finally {
        watch.open--;
      }
    },
  };
  return { engine: watched, watch };
}
