import type { BodyReader, FetchedResponse, FetchInit, FetchLike } from "../http/http.ts";
import { toFrame } from "./to-frame.ts";

export interface OverSocketOptions {
  /** Where the platform is, as in `createClient`. */
  url: string;
  /** For calls that have no frame, and for all calls while no WebSocket can be opened. Default: the global one. */
  fetch?: FetchLike;
  /** Default: the global one; without any, all calls are made with `fetch`. */
  WebSocket?: typeof WebSocket;
}

/** A `fetch` for `createClient` that has a connection. */
export interface SocketFetch extends FetchLike {
  /** Closes the connection. What is open on it fails, and the next call opens another one. */
  close(): void;
}

const PROTOCOL = "reprise.v1";
/** Milliseconds in which a connection must be ready. */
const OPEN_MS = 10_000;
/** Milliseconds without a frame after which a connection with open calls is dead: three heartbeats. */
const SILENCE_MS = 45_000;
/** Milliseconds for which calls are made with `fetch` after no connection could be opened. */
const AVOID_MS = 60_000;
/** Bytes of a stream that its reader takes before the server is told. */
const CONFIRM_BYTES = 65_536;

/**
 * Returns a `fetch` that makes a client's calls over one WebSocket, however many streams it reads. Where none can be opened, calls are made with the other
 * `fetch`. The streams of a connection that breaks continue on the next one, as after any broken connection.
 */
export function overSocket({
  url,
  fetch = (target, init) => globalThis.fetch(target, init),
  WebSocket = globalThis.WebSocket,
}: OverSocketOptions): SocketFetch {
  const base = url.replace(/\/+$/, "");
  let connection: Promise<Connection> | undefined;
  let avoidUntilMs = 0;

  function connect(): Promise<Connection> {
    const opened: Promise<Connection> = openConnection(WebSocket, base, () => {
      if (connection === opened) connection = undefined;
    });
    return opened;
  }

  const socketFetch = async (target: string, init: FetchInit): Promise<FetchedResponse> => {
    const call = toFrame(target.slice(base.length), init);
    // `WebSocket` is missing in old runtimes.
    if (!call || !(WebSocket as unknown) || performance.now() < avoidUntilMs) return fetch(target, init);
    let ready;
    try {
      ready = await (connection ??= connect());
    } catch {
      connection = undefined;
      avoidUntilMs = performance.now() + AVOID_MS;
      return fetch(target, init);
    }
    return ready.call(call.frame, call.secret, init.signal);
  };
  const close = () => {
    void connection?.then(
      (open) => open.close(),
      () => {},
    );
    connection = undefined;
  };
  return Object.assign(socketFetch, { close });
}

interface Connection {
  call(frame: object, secret: string, signal: AbortSignal): Promise<FetchedResponse>;
  close(): void;
}

/** The frames of the server, with the fields of all of them. */
interface ServerFrame {
  readonly op: "ready" | "answer" | "open" | "events" | "end" | "broken" | "drain";
  readonly id: number;
  readonly status: number;
  readonly body: unknown;
  readonly retry_after?: number;
  readonly generation?: string;
  readonly sent: number;
  readonly events: readonly { readonly cursor: string; readonly event: object }[];
  readonly error?: object;
  readonly after_ms: number;
}

/** Resolves when the server is ready, and rejects if the connection breaks before that. */
function openConnection(Socket: typeof WebSocket, base: string, onClose: () => void): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = new Socket(new URL(`${base}/v1/ws`, pageUrl()).href.replace(/^http/, "ws"), PROTOCOL);
    const calls = new Map<number, Call>();
    let lastId = 0;
    let secretSent: string | undefined;
    let heardMs = performance.now();
    const send = (frame: object) => {
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
    };
    const late = setTimeout(() => close(), OPEN_MS);
    const watch = setInterval(() => {
      // A stream that its reader has left waiting is silent.
      if (calls.size === 0 || [...calls.values()].some(({ isUnread }) => isUnread))
        heardMs = performance.now();
      else if (performance.now() - heardMs > SILENCE_MS) close();
    }, SILENCE_MS / 3);
    (watch as { unref?: () => void }).unref?.();

    /** Fails what is open; the server's answer to the close is not waited for. */
    function close(): void {
      clearTimeout(late);
      clearInterval(watch);
      socket.close();
      onClose();
      reject(new Error("The WebSocket could not be opened."));
      for (const call of calls.values()) call.fail();
      calls.clear();
    }

    const connection: Connection = {
      call(frame, secret, signal) {
        if (signal.aborted || socket.readyState !== socket.OPEN)
          return Promise.reject(new Error("The call was aborted, or the WebSocket is closed."));
        if (secret !== secretSent) send({ op: "auth", token: (secretSent = secret) });
        const id = ++lastId;
        const call = new Call((sent) => send({ op: "read", id, sent }));
        calls.set(id, call);
        signal.addEventListener("abort", () => {
          if (calls.delete(id)) send({ op: "leave", id });
          call.fail();
        });
        if (calls.size === 1) heardMs = performance.now();
        send({ ...frame, id });
        return call.response;
      },
      close,
    };
    socket.addEventListener("message", ({ data }) => {
      heardMs = performance.now();
      const frame = JSON.parse(data as string) as ServerFrame;
      if (frame.op === "ready") {
        clearTimeout(late);
        resolve(connection);
      }
      // The streams have been left by the server; calls still get their answers.
      else if (frame.op === "drain") {
        onClose();
        for (const [id, call] of calls) {
          if (!call.isStream) continue;
          calls.delete(id);
          call.drain(frame.after_ms);
        }
      } else if (calls.get(frame.id)?.take(frame)) calls.delete(frame.id);
    });
    socket.addEventListener("close", close);
    socket.addEventListener("error", close);
  });
}

/** Base of relative URLs: that of the page, where there is one. */
function pageUrl(): string | undefined {
  return (globalThis as { location?: { href: string } }).location?.href;
}

/** A call of a connection, whose answer looks like one of `fetch`. */
class Call {
  readonly response: Promise<FetchedResponse>;
  isStream = false;
  #resolve!: (response: FetchedResponse) => void;
  #reject!: (error: Error) => void;
  readonly #confirm: (sent: number) => void;
  readonly #chunks: { readonly text: string; readonly sent: number }[] = [];
  #confirmed = 0;
  #state: "open" | "ended" | "failed" = "open";
  #wake: () => void = () => {};

  constructor(confirm: (sent: number) => void) {
    this.#confirm = confirm;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Returns true if the frame is the last one. */
  take(frame: ServerFrame): boolean {
    switch (frame.op) {
      case "answer":
        this.#resolve(toAnswer(frame));
        return true;
      case "open": {
        this.isStream = true;
        const headers = headersOf({
          "content-type": "text/event-stream",
          "reprise-generation-id": frame.generation,
        });
        const body = { getReader: (): BodyReader => ({ read: () => this.#read() }) };
        this.#resolve({ status: frame.status, headers, body, text: async () => "" });
        return false;
      }
      case "events":
        this.#push(frame.events.map(toSse).join("") || ":\n\n", frame.sent);
        return false;
      case "end":
        this.#end("ended");
        return true;
      case "broken":
        if (frame.error) this.#push(`event: error\ndata: ${JSON.stringify({ error: frame.error })}\n\n`, 0);
        this.fail();
        return true;
      default:
        return false;
    }
  }

  /** Fails, and has the reader come back after that time. */
  drain(afterMs: number): void {
    this.#push(`retry: ${afterMs}\n\n`, 0);
    this.fail();
  }

  get isUnread(): boolean {
    return this.#chunks.length > 0;
  }

  fail(): void {
    this.#reject(new Error("The WebSocket broke."));
    this.#end("failed");
  }

  #push(text: string, sent: number): void {
    this.#chunks.push({ text, sent });
    this.#wake();
  }

  #end(state: "ended" | "failed"): void {
    if (this.#state === "open") this.#state = state;
    this.#wake();
  }

  async #read(): Promise<{ done: boolean; value?: Uint8Array }> {
    while (this.#chunks.length === 0 && this.#state === "open")
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const chunk = this.#chunks.shift();
    if (chunk) {
      if (chunk.sent - this.#confirmed >= CONFIRM_BYTES) this.#confirm((this.#confirmed = chunk.sent));
      return { done: false, value: new TextEncoder().encode(chunk.text) };
    }
    if (this.#state === "failed") throw new Error("The stream broke.");
    return { done: true };
  }
}

function toSse({ cursor, event }: { cursor: string; event: object }): string {
  return `id: ${cursor}\ndata: ${JSON.stringify(event)}\n\n`;
}

function toAnswer({ status, body, retry_after: retryAfter }: ServerFrame): FetchedResponse {
  const headers = headersOf({ "content-type": "application/json", "retry-after": retryAfter });
  return {
    status,
    headers,
    body: null,
    text: async () => (body === null ? "" : JSON.stringify(body)),
  };
}

function headersOf(
  values: Readonly<Record<string, string | number | undefined>>,
): FetchedResponse["headers"] {
  return { get: (name) => (values[name] === undefined ? null : String(values[name])) };
}
