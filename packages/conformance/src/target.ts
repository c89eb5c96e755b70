/** The server under test. */
export interface TargetOptions {
  /** For example `http://127.0.0.1:8080`, without `/v1`. */
  readonly url: string;
  /** An API key with the roles `create`, `read`, `cancel` and `tool`. */
  readonly key: string;
  /** A model that takes the simulator's `options`. Default: `sim`. */
  readonly model?: string | undefined;
  /** A key of another tenant. */
  readonly otherKey?: string | undefined;
  /** A key of the same tenant with `create`, `cancel` and `tool`. Default: stream tokens without `read`. */
  readonly noReadKey?: string | undefined;
  /** A key with a limit of a few calls a minute. */
  readonly limitedKey?: string | undefined;
  /** Time for each case. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** The server as a case sees it. */
export interface Target extends TargetOptions {
  readonly model: string;
  /** Aborts when the case's time is over; its connections end then. */
  readonly signal: AbortSignal;
  /** Generations that run for long. They are cancelled after the case. */
  readonly longRunning: Set<string>;
}
