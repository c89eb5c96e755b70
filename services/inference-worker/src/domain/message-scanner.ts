import type { RuleFinding, Scanner } from "@reprise/moderation";

/**
 * Scans messages as one text, which has matches that are cut over messages, and each message by itself: to a model words and numbers begin where a message
 * does.
 */
export class MessageScanner implements Omit<Scanner, "end"> {
  readonly #create: () => Scanner;
  readonly #whole: Scanner;
  /** The message's own scanner; that of the whole text in the first message. */
  #message: Scanner;
  /** Where the message begins. */
  #from = 0;

  constructor(create: () => Scanner) {
    this.#create = create;
    this.#whole = create();
    this.#message = this.#whole;
  }

  get length(): number {
    return this.#whole.length;
  }

  get pending(): number {
    return Math.max(this.#whole.pending, this.#message.pending);
  }

  push(text: string): readonly RuleFinding[] {
    const found = this.#whole.push(text);
    return this.#message === this.#whole ? found : [...found, ...this.#placed(this.#message.push(text))];
  }

  /** The message ends. */
  settle(): readonly RuleFinding[] {
    const found = this.#whole.settle();
    if (this.#from === this.length) return found;
    const own = this.#message === this.#whole ? [] : this.#placed(this.#message.end());
    this.#from = this.length;
    this.#message = this.#create();
    return [...found, ...own];
  }

  #placed(found: readonly RuleFinding[]): RuleFinding[] {
    return found.map((one) => ({ ...one, from: one.from + this.#from, to: one.to + this.#from }));
  }
}
