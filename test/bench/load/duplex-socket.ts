interface ServerFrame {
  readonly op: string;
  readonly id: number;
  readonly sent: number;
  readonly status?: number;
  readonly body?: unknown;
  readonly generation?: string;
}

/** Is called with a frame of a stream, and its JSON. */
type OnFrame = (frame: ServerFrame, json: string) => void;

/** Bytes of a stream after which their receipt is confirmed: a quarter of what the server sends ahead. */
const CONFIRM_BYTES = 65_536;

/** One connection by PROTOCOL.md §21, for calls and streams of many generations. */
export class DuplexSocket implements Disposable {
  readonly #socket: WebSocket;
  readonly #onFrame = new Map<number, OnFrame>();
  readonly #confirmed = new Map<number, number>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
  }

  /** @param onLost called if the connection ends before it is disposed of */
  static async open(port: number, apiKey: string, onLost: () => void): Promise<DuplexSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/ws`, ["reprise.v1", `reprise.token.${apiKey}`]);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("message", () => resolve(), { once: true });
      socket.addEventListener("close", () => reject(new Error("The WebSocket was refused.")));
    });
    socket.addEventListener("close", onLost);
    return new DuplexSocket(socket);
  }

  /** Follows a stream that a frame opens, `follow` or a `create`; resolves when it is open. @returns the generation's id */
  stream(frame: object, onEvents: OnFrame): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#send(frame, (got, json) => {
        if (got.op === "open") resolve(got.generation ?? "");
        else if (got.op === "events") onEvents(got, json);
        else reject(new Error(`The stream ended: ${json}`));
      });
    });
  }

  /** Resolves when a call is answered. */
  async call(frame: object): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<ServerFrame>();
    const id = this.#send(frame, resolve);
    const { status, body } = await promise;
    this.#onFrame.delete(id);
    if (status !== 200) throw new Error(`The call was refused: ${JSON.stringify(body)}`);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #send(frame: object, onFrame: OnFrame): number {
    const id = ++this.#lastId;
    this.#onFrame.set(id, onFrame);
    this.#socket.send(JSON.stringify({ ...frame, id }));
    return id;
  }

  #take(json: string): void {
    const frame = JSON.parse(json) as ServerFrame;
    this.#onFrame.get(frame.id)?.(frame, json);
    if (frame.op !== "events" || frame.sent - (this.#confirmed.get(frame.id) ?? 0) < CONFIRM_BYTES) return;
    this.#confirmed.set(frame.id, frame.sent);
    this.#socket.send(JSON.stringify({ op: "read", id: frame.id, sent: frame.sent }));
  }
}
