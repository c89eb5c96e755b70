import { type EffectiveTimeouts, type UnixMs, unixNow } from "@reprise/protocol";
import type { TurnTimeout } from "../../domain/after-turn.ts";

export interface TurnWatch extends Disposable {
  /** The engine is asked for its next token, and the time runs. */
  waiting(): void;
  /** The engine has said something; no time runs until it is asked again. */
  arrived(): void;
  /** The engine is not asked after all; no time runs until it is asked again. */
  held(): void;
  /** True: the engine waits for input. No time runs until it has some, though it may speak meanwhile. */
  listening(waits: boolean): void;
  /** True once the engine has said or made anything. */
  readonly hasBegun: boolean;
  /** The engine has made something that it can't say yet: its time begins again, if it runs. */
  progressed(): void;
  /** The engine has said its last word: no time runs any more. */
  finished(): void;
  /** It was not its last word. */
  resumed(): void;
}

export interface TurnWatchOptions {
  timeouts: Pick<EffectiveTimeouts, TurnTimeout>;
  /** The latest end of the whole generation, in wall-clock milliseconds: read from that clock once, when the watch begins. */
  totalAtMs: UnixMs;
  /** Called whenever the engine has said something, with the time since it was asked. */
  onArrived?: ((waitedMs: number) => void) | undefined;
  /** Called once, when the engine has said something for the first time. */
  onFirst?: (() => void) | undefined;
  /** Called once. */
  onTimeout: (name: TurnTimeout) => void;
}

const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * Watches one run of an engine. Its one timer is armed for the next moment at which anything could be late, and armed again when it
 * fires: a token costs two assignments.
 */
export function watchTurn(options: TurnWatchOptions): TurnWatch {
  const { timeouts, totalAtMs, onArrived, onFirst, onTimeout } = options;
  const totalDueMs = performance.now() + totalAtMs - unixNow();
  let limit: TurnTimeout = "first_token";
  let waitingSince: number | undefined;
  let timer: NodeJS.Timeout;
  let isOver = false;
  let isListening = false;

  function check(): void {
    const at = performance.now();
    const since = waitingSince ?? at;
    const dueMs = since + timeouts[limit].after_ms;
    if (at >= totalDueMs) strike("total");
    else if (waitingSince !== undefined && at >= dueMs) strike(limit);
    else arm(Math.min(dueMs, totalDueMs) - at);
  }

  function strike(name: TurnTimeout): void {
    isOver = true;
    onTimeout(name);
  }

  function arm(delayMs: number): void {
    timer = setTimeout(check, Math.min(Math.max(delayMs, 1), LONGEST_TIMER_MS));
  }

  function waiting(): void {
    waitingSince = isListening ? undefined : performance.now();
  }

  function arrived(): void {
    if (onArrived && waitingSince !== undefined) onArrived(performance.now() - waitingSince);
    waitingSince = undefined;
    if (limit === "between_tokens" || isOver) return;
    // The timer may be armed for much later than this limit has it.
    limit = "between_tokens";
    onFirst?.();
    clearTimeout(timer);
    arm(Math.min(timeouts[limit].after_ms, totalDueMs - performance.now()));
  }

  arm(Math.min(timeouts[limit].after_ms, totalDueMs - performance.now()));
  return {
    waiting,
    arrived,
    held() {
      waitingSince = undefined;
    },
    listening(waits) {
      isListening = waits;
      waiting();
    },
    get hasBegun() {
      return limit === "between_tokens";
    },
    progressed() {
      if (waitingSince === undefined) return;
      arrived();
      waiting();
    },
    finished() {
      isOver = true;
      clearTimeout(timer);
    },
    resumed() {
      isOver = false;
      check();
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
