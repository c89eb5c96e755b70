import type { ErrorCode } from "@reprise/protocol";
import type { Metrics } from "../http/metrics.ts";
import {
  type DependencyInput,
  type DependencyNews,
  type DependencyRules,
  type DependencyState,
  nextCheckMs,
  nextDependency,
  UP,
} from "./dependency-state.ts";
import type { Logger } from "./logger.ts";

export interface DependencyOptions {
  /** The label `dependency` of metrics. */
  readonly name: string;
  /** The line that is logged when it is gone. */
  readonly gone: string;
  /** The line that is logged when it is back. */
  readonly back: string;
  /** Fields of both lines. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /**
   * `changes`: `failed` is called when it goes, and holds until `worked` is called. `each`: `failed` is called for each failure, and one that is
   * not followed by another proves nothing.
   */
  readonly reports: "changes" | "each";
  /** For how long it has to fail until it is away. Default 3 s. */
  readonly graceMs?: number;
  /** From one line of a loss to the next, at least. Default 10 s. */
  readonly holdOffMs?: number;
  /** Without a further failure for so long it counts as back. Default: only `worked` brings it back. */
  readonly quietMs?: number;
  /** Errors with this code are explained by its absence. */
  readonly explains?: ErrorCode;
  /** Its own loss is not logged as long as this one is failing or away, and for 5 s afterwards: it needs a moment to be back, too. */
  readonly causedBy?: DependencyWatch;
  /** Why the process is not ready while it is away. Default: that does not matter. */
  readonly notReady?: (because: string) => string;
}

const GRACE_MS = 3_000;
const HOLD_OFF_MS = 10_000;
const EXPLAINED_CHECK_MS = 1_000;
const EXPLAINED_AFTER_MS = 5_000;

export interface DependencyContext {
  readonly logger: Logger;
  /** Called when it is away, and when it is not any more. */
  readonly onChange: (isAway: boolean) => void;
}

/** Tracks if a dependency is there, by its use, and logs one line each when it goes and when it is back. */
export class DependencyWatch {
  readonly options: DependencyOptions;
  readonly #context: DependencyContext;
  #state: DependencyState = UP;
  #backAtMs = Number.NEGATIVE_INFINITY;
  #check: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;

  constructor(options: DependencyOptions, context: DependencyContext) {
    this.options = options;
    this.#context = context;
  }

  failed(because: string): void {
    const { quietMs } = this.options;
    clearTimeout(this.#quiet);
    if (quietMs !== undefined) this.#quiet = setTimeout(() => this.worked(), quietMs).unref();
    this.#step({ kind: "failed", because });
  }

  worked(): void {
    clearTimeout(this.#quiet);
    if (this.#state.phase.kind !== "up") this.#step({ kind: "worked" });
  }

  get isAway(): boolean {
    return this.#state.phase.kind === "away";
  }

  /** True if its last use has failed, even for a short time. */
  get isFailing(): boolean {
    return this.#state.phase.kind !== "up";
  }

  /** Why it is away; undefined where it is not. */
  get because(): string | undefined {
    const { phase } = this.#state;
    return phase.kind === "away" ? phase.because : undefined;
  }

  /** True if it was away at some time of the last `ms` milliseconds. */
  wasAwayWithin(ms: number): boolean {
    return this.isAway || performance.now() - this.#backAtMs < ms;
  }

  /** Logs nothing more. */
  [Symbol.dispose](): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#check);
  }

  #step(input: DependencyInput): void {
    const { graceMs = GRACE_MS, holdOffMs = HOLD_OFF_MS, causedBy, reports } = this.options;
    const nowMs = performance.now();
    const isExplained =
      causedBy !== undefined && (causedBy.isFailing || causedBy.wasAwayWithin(EXPLAINED_AFTER_MS));
    const rules = { graceMs, holdOffMs, isExplained };
    const wasAway = this.isAway;
    const { state, news } = nextDependency(this.#state, input, nowMs, rules);
    this.#state = state;
    if (wasAway && !this.isAway) this.#backAtMs = nowMs;
    if (wasAway !== this.isAway) this.#context.onChange(this.isAway);
    if (news) this.#log(news);
    if (reports === "changes") this.#schedule(rules, nowMs);
  }

  #schedule(rules: DependencyRules, nowMs: number): void {
    clearTimeout(this.#check);
    const checkMs = nextCheckMs(this.#state, rules);
    if (checkMs === undefined) return;
    const waitMs = Math.max(checkMs - nowMs, rules.isExplained ? EXPLAINED_CHECK_MS : 0);
    this.#check = setTimeout(() => this.#step({ kind: "checked" }), waitMs).unref();
  }

  #log(news: DependencyNews): void {
    const { logger } = this.#context;
    const { fields, gone, back, reports } = this.options;
    if (news.kind === "gone") {
      const { because, flaps } = news;
      logger.warn({ ...fields, because, ...(flaps > 0 && { flaps }) }, gone);
    } else if (news.kind === "back") {
      const { awayMs, failures } = news;
      logger.info({ ...fields, awayMs: Math.round(awayMs), ...(reports === "each" && { failures }) }, back);
    } else if (reports === "changes") {
      logger.warn({ ...fields, because: news.because }, `${gone}, for another reason`);
    }
  }
}

export interface DependencyWatchesOptions {
  /** The label `service` of metrics. */
  readonly service: string;
  readonly logger: Logger;
  /** Default: nothing is counted. */
  readonly metrics?: Metrics | undefined;
}

/** The dependencies of a service. */
export class DependencyWatches {
  readonly #options: DependencyWatchesOptions;
  readonly #watches = new Set<DependencyWatch>();

  constructor(options: DependencyWatchesOptions) {
    this.#options = options;
  }

  /** A further dependency, which is up until it fails. */
  add(options: DependencyOptions): DependencyWatch {
    const { service, logger, metrics } = this.#options;
    const labels = { service, dependency: options.name };
    const up = metrics?.gauge("reprise_dependency_up");
    const losses = metrics?.counter("reprise_dependency_losses_total");
    up?.set(labels, 1);
    losses?.inc(labels, 0);
    const onChange = (isAway: boolean) => {
      up?.set(labels, Number(!isAway));
      if (isAway) losses?.inc(labels);
    };
    const watch = new DependencyWatch(options, { logger, onChange });
    this.#watches.add(watch);
    return watch;
  }

  /** Nothing depends on it any more. */
  remove(watch: DependencyWatch): void {
    watch[Symbol.dispose]();
    this.#watches.delete(watch);
    const { service, metrics } = this.#options;
    metrics?.gauge("reprise_dependency_up").remove({ service, dependency: watch.options.name });
  }

  /** Why the process is not ready: empty when all is there that it needs. */
  because(): readonly string[] {
    return [...this.#watches].flatMap(({ because, options: { notReady } }) =>
      because === undefined || !notReady ? [] : [notReady(because)],
    );
  }

  /** True if an absence in the last `withinMs` milliseconds, which has a line, explains an error. */
  explains(code: ErrorCode, withinMs: number): boolean {
    return [...this.#watches].some(
      (watch) => watch.options.explains === code && watch.wasAwayWithin(withinMs),
    );
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches) watch[Symbol.dispose]();
  }
}
