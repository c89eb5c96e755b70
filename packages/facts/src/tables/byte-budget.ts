import { RepriseError } from "@reprise/protocol";

/** Lets no more bytes be used at a time than there are; who needs more waits, in the order of coming. */
export class ByteBudget {
  readonly #most: number;
  #used = 0;
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws RepriseError `invalid_request` for more than there are at all */
  async take(bytes: number): Promise<Disposable> {
    if (bytes > this.#most) {
      const message = `What is asked for is in files of ${bytes} bytes, and ${this.#most} are the limit: ask for a shorter time.`;
      throw new RepriseError("invalid_request", message, { param: "from" });
    }
    await new Promise<void>((begin) => {
      this.#waiting.push({ bytes, begin });
      this.#next();
    });
    return {
      [Symbol.dispose]: () => {
        this.#used -= bytes;
        this.#next();
      },
    };
  }

  #next(): void {
    for (
      let [first] = this.#waiting;
      first && this.#used + first.bytes <= this.#most;
      [first] = this.#waiting
    ) {
      this.#waiting.shift();
      this.#used += first.bytes;
      first.begin();
    }
  }
}
