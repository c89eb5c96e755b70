import type { Job } from "@reprise/jobs";
import type { Seam } from "../../engines/engine.ts";
import type { SaidEvent } from "./run-engine.ts";

interface YieldPointOptions {
  job: Pick<Job, "setYield">;
  /** The start of the turn. */
  seam: Seam;
  /** True if the engine can continue from there without a visible seam. */
  canContinue: (seam: Seam) => boolean;
  /** Called once: another job has the slot, and the engine can continue the text so far. */
  onYield: () => void;
}

/** The first 32 tokens are all tried, and then every 32nd: the engine may have to inspect the request for each try. */
const TRIES = 32;
/** Replaces bytes that the engine has not sent: no engine can continue a text that contains it. */
const REPLACEMENT = "\uFFFD";

/**
 * Tells when a batch generation can release its slot: while its engine streams, after it has produced text in this turn that it can continue.
 * So each attempt gets further than the one before, even if the slot is wanted often.
 *
 * An engine can continue most texts, but not one that ends in a blank. The slot is given away at once, and the engine stops at the next
 * token after which it can continue. If there is none, the turn runs to its end beside the job that has the slot; its tenant loses no other slot meanwhile.
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

  /** Called after the engine's last token: nothing is left to continue. */
  finished(): void {
    this.#options.job.setYield(undefined);
  }

  [Symbol.dispose](): void {
    this.finished();
  }

  /** Offers the slot if the engine can continue, now or after the blanks at the end. */
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
