import type { Job } from "@reprise/log";
import type { Seam } from "../../engines/engine.ts";
import type { SaidEvent } from "./run-engine.ts";

interface YieldPointOptions {
  job: Pick<Job, "setYield">;
  /** What the turn begins with. */
  seam: Seam;
  /** Whether the engine goes on from there without a seam that shows. */
  canContinue: (seam: Seam) => boolean;
  /** Called once: the slot is another job's, and the engine can go on behind what was said so far. */
  onYield: () => void;
}

/** Each of so many tokens is tried, and then one of so many: to ask the engine may take a look at the request. */
const TRIES = 32;
/** Stands for bytes that the engine has not told: behind text with one, none goes on. */
const REPLACEMENT = "\uFFFD";

/**
 * Says of a batch generation when it can let go of its slot: while its engine speaks, once it has said text in this turn behind which it can go on.
 * So each attempt gets further than the one before, however often the slot is wanted.
 *
 * An engine may go on behind most texts, and not behind one that ends in a blank. The slot is given away at once, and the engine stops at the next
 * token behind which it goes on. Should none come, the turn runs to its end beside the job that has the slot; its tenant loses no other slot meanwhile.
 */
export class YieldPoint implements Disposable {
  readonly #options: Omit<YieldPointOptions, "seam">;
  #seam: Seam;
  #hasText = false;
  #isWanted = false;
  #tries = 0;

  constructor({ seam, ...options }: YieldPointOptions) {
    this.#options = options;
    this.#seam = seam;
  }

  /** The engine has said this, and it is appended. */
  said(event: SaidEvent): void {
    const { prefix, reasoned, counted } = this.#seam;
    const isText = event.type === "text";
    const { text, tokens = 1 } = isText ? event : { text: "", tokens: 0 };
    this.#seam = {
      prefix: isText ? { text: prefix.text + text, tokens: prefix.tokens + tokens } : prefix,
      reasoned: reasoned || !isText,
      counted: counted || ("inputTokens" in event && event.inputTokens !== undefined),
    };
    if (this.#isWanted) return this.#tryYield();
    const isOther = this.#seam.reasoned !== reasoned || this.#seam.counted !== counted;
    const isFirstText = isText && !this.#hasText;
    this.#hasText ||= isText;
    if (isOther || isFirstText || text.includes(REPLACEMENT)) this.#offer();
  }

  /** The engine has said its last word: there is nothing left to go on with. */
  finished(): void {
    this.#options.job.setYield(undefined);
  }

  [Symbol.dispose](): void {
    this.finished();
  }

  /** Offered where the engine can go on, now or behind what makes good for blanks at the end. */
  #offer(): void {
    const { job, canContinue } = this.#options;
    const { text, tokens } = this.#seam.prefix;
    const prefix = { text: text.trimEnd(), tokens };
    const canYield = this.#hasText && canContinue({ ...this.#seam, prefix });
    job.setYield(canYield ? () => this.#want() : undefined);
  }

  #want(): void {
    this.#isWanted = true;
    this.#tryYield();
  }

  #tryYield(): void {
    const tries = this.#tries++;
    if (tries > TRIES && tries % TRIES !== 0) return;
    if (this.#options.canContinue(this.#seam)) this.#options.onYield();
  }
}
