import { Sketch } from "../sketch/sketch.ts";
import { allottedShares, BUDGET_TERMS, type BudgetClass, type BudgetTerm } from "./budget-class.ts";

/**
 * The measured times of one generation until the first output that a reader could use, in microseconds. A term that is absent was not measured; without
 * `prefill` there was no output.
 */
export type BudgetSample = { readonly [term in BudgetTerm]?: number | undefined } & {
  /** Mean time of each token after the first. */
  readonly perToken?: number | undefined;
};

export interface BudgetReport {
  readonly generations: number;
  /** Those that ended before any output: a reader saw nothing of them, soon or late, so no target and no term counts them. */
  readonly without_output: number;
  readonly targets: readonly {
    readonly quantile: number;
    readonly target_ms: number;
    /** The sum of the terms that were measured, of each generation with output. null: there was none. */
    readonly measured_ms: number | null;
    readonly met: boolean | null;
  }[];
  readonly terms: readonly BudgetTermReport[];
  /** Which output token the targets are about: 1 is the first output. */
  readonly tokens: number;
  /** Time of each output token after the first. */
  readonly decode_ms_per_token: { readonly p50: number; readonly p95: number } | null;
  /** The term that is furthest over what it is allotted, where a target is missed. */
  readonly breaks: BudgetTerm | null;
}

export interface BudgetTermReport {
  readonly term: BudgetTerm;
  /** The share of the strictest target. */
  readonly allotted_ms: number;
  /** Number of generations with this measurement. */
  readonly measured: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** By how much it is over what it is allotted, at that target's quantile; negative: under. */
  readonly over_ms: number | null;
  /** Number of generations that took longer than the target, mostly because this term exceeded its share. */
  readonly blamed: number;
}

const MS = 1_000;

/**
 * Holds what was measured against a class of applications. Quantiles of terms do not add up to the quantile of their sum, so both are measured: the sum of each generation
 * against the target, and each term against its share of it.
 */
export class LatencyBudget {
  readonly #targets: BudgetClass["targets"];
  readonly #strictest: BudgetClass["targets"][number];
  readonly #tokens: number;
  readonly #shares: ReturnType<typeof allottedShares>;
  readonly #sums = new Sketch();
  readonly #terms = new Map(BUDGET_TERMS.map((term) => [term, { sketch: new Sketch(), blamed: 0 }]));
  readonly #perToken = new Sketch();
  #generations = 0;
  #withoutOutput = 0;

  /** @param class_ with one target at least */
  constructor({ targets, tokens }: BudgetClass) {
    const [first] = targets.toSorted((a, b) => b.quantile - a.quantile || a.ms - b.ms);
    if (!first) throw new RangeError("A class of latency budgets has no target.");
    this.#targets = targets;
    this.#strictest = first;
    this.#tokens = tokens;
    this.#shares = allottedShares({ tokens });
  }

  add(sample: BudgetSample): void {
    this.#generations++;
    if (sample.prefill === undefined) {
      this.#withoutOutput++;
      return;
    }
    let sum = 0;
    let furthest: { term: BudgetTerm; over: number } | undefined;
    for (const term of BUDGET_TERMS) {
      const us = sample[term];
      if (us === undefined) continue;
      sum += us;
      this.#terms.get(term)?.sketch.add(us);
      const over = us - this.#allottedUs(term);
      if (!furthest || over > furthest.over) furthest = { term, over };
    }
    if (sample.perToken !== undefined) this.#perToken.add(sample.perToken);
    this.#sums.add(sum);
    const found = furthest && sum > this.#strictest.ms * MS && this.#terms.get(furthest.term);
    if (found) found.blamed++;
  }

  toReport(): BudgetReport {
    const targets = this.#targets.map(({ quantile, ms }) => {
      const measured = toMs(this.#sums.quantile(quantile));
      return {
        quantile,
        target_ms: ms,
        measured_ms: measured,
        met: measured === null ? null : measured <= ms,
      };
    });
    const terms = BUDGET_TERMS.map((term) => this.#reportOf(term));
    const isMissed = targets.some(({ met }) => met === false);
    const [worst] = terms
      .filter(({ over_ms: over }) => over !== null && over > 0)
      .toSorted((a, b) => (b.over_ms ?? 0) - (a.over_ms ?? 0));
    const [p50, p95] = [toMs(this.#perToken.quantile(0.5)), toMs(this.#perToken.quantile(0.95))];
    return {
      generations: this.#generations,
      without_output: this.#withoutOutput,
      tokens: this.#tokens,
      targets,
      terms,
      decode_ms_per_token: p50 === null || p95 === null ? null : { p50, p95 },
      breaks: isMissed ? (worst?.term ?? null) : null,
    };
  }

  #reportOf(term: BudgetTerm): BudgetTermReport {
    const { sketch = new Sketch(), blamed = 0 } = this.#terms.get(term) ?? {};
    const at = sketch.quantile(this.#strictest.quantile);
    return {
      term,
      allotted_ms: this.#allottedUs(term) / MS,
      measured: sketch.count,
      p50_ms: toMs(sketch.quantile(0.5)),
      p95_ms: toMs(sketch.quantile(0.95)),
      over_ms: at === undefined ? null : (at - this.#allottedUs(term)) / MS,
      blamed,
    };
  }

  #allottedUs(term: BudgetTerm): number {
    return Math.round(this.#strictest.ms * MS * this.#shares[term]);
  }
}

function toMs(us: number | undefined): number | null {
  return us === undefined ? null : us / MS;
}
