import type { Observer } from "@reprise/service";
import type { EngineOutcome } from "../turn/run-engine.ts";

export interface TurnObservers {
  readonly firstChunk: Observer;
  readonly chunk: Observer;
  readonly token: Observer;
  readonly input: Observer;
  readonly output: Observer;
  readonly durationOf: (error: string) => Observer;
}

const NO_ERROR = "";

/** Measures one request to an engine. A chunk costs one observation. */
export class TurnTiming {
  readonly #observers: TurnObservers;
  readonly #beganAtMs = performance.now();
  #hasBegun = false;
  /** How long the engine has taken behind its first chunk. */
  #decodeMs = 0;
  #firstTokens = 0;

  constructor(observers: TurnObservers) {
    this.#observers = observers;
  }

  /** The engine has said something, after so long a wait for it. */
  arrived(waitedMs: number): void {
    if (this.#hasBegun) {
      this.#decodeMs += waitedMs;
      this.#observers.chunk.observe(waitedMs / 1_000);
      return;
    }
    this.#hasBegun = true;
    this.#observers.firstChunk.observe(waitedMs / 1_000);
  }

  /** Its first chunk had so many tokens. */
  firstChunk(tokens: number): void {
    this.#firstTokens ||= tokens;
  }

  /** A request that the run has stopped says nothing of the engine, but of what it has produced. */
  ended(outcome: EngineOutcome): void {
    const { input, output, token, durationOf } = this.#observers;
    const usage = outcome.kind === "finished" ? outcome.usage : undefined;
    const produced = usage?.output_tokens ?? outcome.counted;
    if (usage && usage.input_tokens !== null) input.observe(usage.input_tokens);
    if (produced > 0) output.observe(produced);
    if (outcome.kind !== "stopped")
      durationOf(errorOf(outcome)).observe((performance.now() - this.#beganAtMs) / 1_000);
    const behindFirst = outcome.counted - this.#firstTokens;
    if (outcome.kind === "finished" && behindFirst > 0) token.observe(this.#decodeMs / 1_000 / behindFirst);
  }
}

function errorOf(outcome: Exclude<EngineOutcome, { kind: "stopped" }>): string {
  switch (outcome.kind) {
    case "failed":
    case "spent":
      return outcome.error.code;
    case "timeout":
      return `${outcome.name}_timeout`;
    case "finished":
      return NO_ERROR;
  }
}
