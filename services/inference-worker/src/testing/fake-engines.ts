import { countProduced, type Engine, type EngineRequest } from "../engines/engine.ts";
import type { KnownEvent } from "@reprise/protocol";
import { createSimEngine } from "../engines/sim/sim-engine.ts";

/** An engine that does what a test says, and can continue nothing unless told otherwise. */
export function createFakeEngine(generate: Engine["generate"], overrides: Partial<Engine> = {}): Engine {
  return {
    name: "fake",
    canContinue: () => false,
    generate,
    close: async () => undefined,
    ...overrides,
  };
}

/** An engine that keeps its inputs, and answers with the number of them. */
export function createListener() {
  const inputs: EngineRequest["input"][] = [];
  const engine = createFakeEngine(async function* ({ input }) {
    inputs.push(input);
    yield { type: "text", text: `${inputs.length}.` };
    yield { type: "finish", reason: "stop" };
  });
  return { engine, inputs };
}

/** An engine that says a text and falls silent. `aborted` resolves when its signal aborts. */
export function createSilentEngine(text: string) {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    signal.addEventListener("abort", () => resolve());
    yield { type: "text", text };
    await untilAborted(signal);
  });
  return { engine, aborted };
}

/** Never resolves; rejects with the signal's reason as soon as that aborts, as an engine's wait does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** The simulator, held at a place for as long as a test needs, however slow the machine is. */
export interface PausedSimulator extends Engine {
  /** Lets all runs continue up to this token of their generation. At first they run to their end. */
  sayUpTo(tokens: number): void;
}

export function createPausedSimulator(): PausedSimulator {
  const simulator = createSimEngine();
  let most = Number.POSITIVE_INFINITY;
  let moved = Promise.withResolvers<void>();
  return {
    ...simulator,
    async *generate(request, options) {
      let said = countProduced(options);
      for await (const event of simulator.generate(request, options)) {
        while (event.type === "text" && said >= most)
          await Promise.race([moved.promise, untilAborted(options.signal)]);
        yield event;
        if (event.type === "text") said += event.tokens ?? 1;
      }
    },
    sayUpTo(tokens) {
      most = tokens;
      moved.resolve();
      moved = Promise.withResolvers();
    },
  };
}

/** True if a log holds this many tokens of text, in any number of events. */
export const hasTokens = (count: number) => (events: readonly KnownEvent[]) =>
  events.reduce((sum, event) => sum + (event.type === "output.delta" ? (event.tokens ?? 1) : 0), 0) >= count;
