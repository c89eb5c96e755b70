/** A call of a connection, or a stream, from its frame to its last answer. */
export class OpenCall {
  /** Generation of a stream; undefined for another call, and for a create whose answer has not begun. */
  generation: string | undefined;
  /** Cursor of the last event sent. */
  cursor: string | null = null;
  hasLeft = false;
  readonly #aheadBytes: number;
  #sent = 0;
  #read = 0;
  #onRead: () => void = () => {};
  #cutOff: () => void = () => {};

  /** @param aheadBytes how far a stream may be ahead of its client. Default: the connection alone bounds it */
  constructor(aheadBytes = Number.POSITIVE_INFINITY) {
    this.#aheadBytes = aheadBytes;
  }

  /** @param cutOff ends the request; called at once if the client has left */
  onLeave(cutOff: () => void): void {
    this.#cutOff = cutOff;
    if (this.hasLeft) cutOff();
  }

  leave(): void {
    this.hasLeft = true;
    this.#cutOff();
    this.#onRead();
  }

  /** Counts the bytes of a frame. Returns how many the stream has sent. */
  send(bytes: number): number {
    return (this.#sent += bytes);
  }

  /** @param sent the bytes that the client confirms to have read */
  read(sent: number): void {
    this.#read = Math.max(this.#read, sent);
    this.#onRead();
  }

  /** Resolves when the client has read enough for another frame, or has left. */
  async room(): Promise<void> {
    while (this.#sent - this.#read >= this.#aheadBytes && !this.hasLeft)
      await new Promise<void>((resolve) => (this.#onRead = resolve));
  }
}
