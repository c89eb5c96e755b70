/** What a reader that can be held up waits at before it takes the next event. */
export class Gate {
  #open: PromiseWithResolvers<void> | undefined;

  get isClosed(): boolean {
    return this.#open !== undefined;
  }

  close(): void {
    this.#open ??= Promise.withResolvers();
  }

  open(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  async passed(): Promise<void> {
    while (this.#open) await this.#open.promise;
  }
}
