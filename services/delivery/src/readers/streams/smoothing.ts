/**
 * Lets a reader be sent what has come at most once per interval: at once when nothing was sent for so long, else when the interval
 * is over, with all that came meanwhile. Only the time of the next send is kept here, and no timer runs while nothing comes.
 */
export class Smoothing {
  readonly #intervalMs: number;
  readonly #send: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(intervalMs: number, send: () => void) {
    this.#intervalMs = intervalMs;
    this.#send = send;
  }

  /** Something has come. */
  readonly onProgress = (): void => {
    if (this.#timer) this.#isDue = true;
    else this.#sendNow();
  };

  stop(): void {
    clearTimeout(this.#timer);
  }

  #sendNow(): void {
    this.#isDue = false;
    this.#timer = setTimeout(() => this.#over(), this.#intervalMs);
    this.#send();
  }

  #over(): void {
    this.#timer = undefined;
    if (this.#isDue) this.#sendNow();
  }
}
