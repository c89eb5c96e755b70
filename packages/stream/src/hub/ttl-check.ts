/** A question whose answer is good for a while, put by several at once as one. */
export class TtlCheck {
  readonly #check: () => Promise<void>;
  readonly #goodForMs: number;
  #checkedAt = performance.now();
  #checking: Promise<void> | undefined;

  /** The current knowledge counts as checked. */
  constructor(check: () => Promise<void>, goodForMs: number) {
    this.#check = check;
    this.#goodForMs = goodForMs;
  }

  /** @throws what the check throws */
  async ensure(): Promise<void> {
    if (performance.now() - this.#checkedAt < this.#goodForMs) return;
    this.#checking ??= this.#run();
    await this.#checking;
  }

  async #run(): Promise<void> {
    const askedAt = performance.now();
    try {
      await this.#check();
      this.#checkedAt = askedAt;
    } finally {
      this.#checking = undefined;
    }
  }
}
