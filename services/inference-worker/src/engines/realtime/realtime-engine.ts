import { on } from "node:events";
import { pause, raceAbort } from "@reprise/async";
import { type Capability, RepriseError, type Usage } from "@reprise/protocol";
import { Agent, buildConnector, WebSocket } from "undici";
import type { Engine, EngineEvent, EngineRequest, GenerateOptions } from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { Feed } from "../feed.ts";

export interface RealtimeEngineOptions {
  /** Such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  readonly upstreamModel: string;
  /** Sent as a bearer token. */
  readonly apiKey?: string | undefined;
  readonly capabilities: ReadonlySet<Capability>;
}

/** Sound that waits in the socket: more is not taken from the input. */
const MAX_BUFFERED_BYTES = 262_144;
const BUFFERED_POLL_MS = 20;

interface ServerMessage {
  readonly type?: unknown;
  readonly delta?: unknown;
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown };
}

/**
 * vLLM's `/v1/realtime`: sound of the input goes to the server as it comes, and its transcription is the output. The server decides where an utterance ends, so
 * commits and clears are not passed on. It can't continue: a takeover sends the sound again from its beginning.
 */
export function createRealtimeEngine(options: RealtimeEngineOptions): Engine {
  const { port, hostname, protocol } = new URL(options.baseUrl);
  const open = new Set<Connection>();
  return {
    name: "realtime",
    address: { host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) },
    capabilities: options.capabilities,
    canContinue: () => false,
    async *generate(request, generate) {
      generate.signal.throwIfAborted();
      const connection = connect(options);
      open.add(connection);
      try {
        yield* transcribe(connection.socket, options.upstreamModel, request, generate);
      } finally {
        open.delete(connection);
        connection.close();
      }
    },
    async close() {
      for (const connection of open) connection.close();
    },
  };
}

interface Connection {
  readonly socket: WebSocket;
  /** Sends a close, and breaks the connection: undici alone waits for the server's answer without an end. */
  close(): void;
}

function connect({ baseUrl, apiKey }: RealtimeEngineOptions): Connection {
  const url = `${baseUrl.replace(/^http/, "ws").replace(/\/$/, "")}/realtime`;
  const connector = buildConnector({});
  let isClosed = false;
  let destroy = () => {};
  const dispatcher = new Agent({
    connect: (target, callback) =>
      connector(target, (...connected) => {
        const [, transport] = connected;
        destroy = () => transport?.destroy();
        if (isClosed) destroy();
        callback(...connected);
      }),
  });
  const socket = new WebSocket(url, {
    dispatcher,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
  return {
    socket,
    close() {
      isClosed = true;
      socket.close();
      destroy();
    },
  };
}

async function* transcribe(
  socket: WebSocket,
  model: string,
  request: EngineRequest,
  { signal, input }: GenerateOptions,
): AsyncGenerator<EngineEvent> {
  if (!input)
    throw new RepriseError("invalid_request", "input: the model takes streamed sound.", { param: "input" });
  // An error is followed by the close, which ends the messages.
  socket.addEventListener("error", () => {});
  const messages = on(socket, "message", { close: ["close"] }) as AsyncIterator<[{ data: unknown }]>;
  const { max_output_tokens: most = Number.POSITIVE_INFINITY } = request;
  let feed: Feed | undefined;
  let tokens = 0;
  for (let next = messages.next(); ;) {
    const read = await raceAbort(feed ? Promise.race([next, feed.moved]) : next, signal);
    if (read?.done) throw feed ? brokenOff() : unreachable();
    const message = read ? parse(read.value[0].data) : {};
    if (read) next = messages.next();
    if (message.type === "session.created") {
      send(socket, { type: "session.update", model });
      feed ??= startFeed(socket, input, signal);
    } else if (message.type === "transcription.done") {
      yield { type: "finish", reason: "stop", ...toUsage(message.usage) };
      return;
    } else if (message.type === "error") {
      const failed = "The engine ended the transcription with an error.";
      throw new EngineError("engine_failed", failed, { retry: "never" });
    } else if (!read || message.type === "transcription.delta") {
      const text = typeof message.delta === "string" ? message.delta : "";
      if (text !== "" && tokens++ >= most) {
        yield { type: "finish", reason: "length" };
        return;
      }
      const consumed = feed?.takeConsumed();
      const said = { type: "text", text, tokens: text === "" ? 0 : 1 } as const;
      if (consumed !== undefined) yield { ...said, consumed };
      else if (text !== "") yield said;
      signal.throwIfAborted();
    }
  }
}

function brokenOff(): EngineError {
  return new EngineError("engine_failed", "The engine closed the connection early.", { retry: "broken" });
}

function unreachable(): EngineError {
  const options = { retry: "broken", isUnreachable: true } as const;
  return new EngineError("engine_unavailable", "The engine can't be reached.", options);
}

/** The first sound begins the transcription, the end of the input ends it. */
function startFeed(
  socket: WebSocket,
  input: NonNullable<GenerateOptions["input"]>,
  signal: AbortSignal,
): Feed {
  let hasBegun = false;
  const isOpen = () => socket.readyState === WebSocket.OPEN && !signal.aborted;
  const feed = new Feed(async ({ entry }) => {
    while (isOpen() && socket.bufferedAmount > MAX_BUFFERED_BYTES) await pause(BUFFERED_POLL_MS, signal);
    if (!isOpen()) return false;
    if (entry.type !== "input.audio") return true;
    send(socket, { type: "input_audio_buffer.append", audio: Buffer.from(entry.audio).toString("base64") });
    if (!hasBegun) send(socket, { type: "input_audio_buffer.commit", final: false });
    hasBegun = true;
    return true;
  });
  void feed.run(input).then(() => send(socket, { type: "input_audio_buffer.commit", final: true }));
  return feed;
}

function send(socket: WebSocket, message: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function toUsage(told: ServerMessage["usage"]): { usage?: Usage } {
  const { prompt_tokens: input, completion_tokens: output } = told ?? {};
  if (!isCount(output)) return {};
  return { usage: { input_tokens: isCount(input) ? input : null, output_tokens: output } };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A message that can't be read says nothing. */
function parse(data: unknown): ServerMessage {
  try {
    return Object(JSON.parse(String(data))) as ServerMessage;
  } catch {
    return {};
  }
}
