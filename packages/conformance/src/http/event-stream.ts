import type { IncomingHttpHeaders } from "node:http";
import type { Target } from "../target.ts";
import { type CallOptions, open } from "./call.ts";

/** A message of the stream: the lines up to a blank line, without comments and `retry:` lines. */
export interface Frame {
  /** The lines, without the blank one. */
  readonly raw: string;
  /** Value of the line `id: …`; "" if absent. */
  readonly id: string;
  readonly event: string | undefined;
  readonly data: string;
}

/** `clean`: the response was complete. `broken`: the connection ended before. */
export type StreamEnd = "clean" | "broken";

export interface EventStream extends Disposable {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body so far, if the answer is an event stream. */
  readonly text: string;
  readonly frames: readonly Frame[];
  readonly ended: Promise<StreamEnd>;
  /** Resolves at the next bytes, or the end. */
  changed(): Promise<void>;
  /** Resolves with `count` frames, or with all at the end. */
  take(count: number): Promise<readonly Frame[]>;
  pause(): void;
  resume(): void;
  /** Breaks the connection. */
  cut(): void;
}

export interface WholeStream extends Pick<EventStream, "status" | "headers" | "text" | "frames"> {
  readonly end: StreamEnd;
}

/** Opens an event stream. It knows LF alone, because a server may send nothing else. */
export async function openEventStream(
  target: Target,
  name: string,
  options: CallOptions = {},
): Promise<EventStream> {
  const headers = { accept: "text/event-stream", ...options.headers };
  const response = await open(target, name, { ...options, headers });
  const frames: Frame[] = [];
  let text = "";
  let parsed = 0;
  let isOver = false;
  let change = Promise.withResolvers<void>();
  const announce = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n", parsed); end >= 0; end = text.indexOf("\n\n", parsed)) {
      const frame = parseFrame(text.slice(parsed, end));
      if (frame) frames.push(frame);
      parsed = end + 2;
    }
    announce();
  });
  // "close" follows and says how it ended.
  response.on("error", () => undefined);
  const ended = new Promise<StreamEnd>((resolve) => {
    response.on("close", () => {
      isOver = true;
      resolve(response.complete ? "clean" : "broken");
      announce();
    });
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get text() {
      return text;
    },
    frames,
    ended,
    changed: () => (isOver ? Promise.resolve() : change.promise),
    async take(count) {
      while (frames.length < count && !isOver) await change.promise;
      return frames;
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    cut: () => void response.destroy(),
    [Symbol.dispose]: () => void response.destroy(),
  };
}

/** Reads a stream to its end. */
export async function readEventStream(
  target: Target,
  name: string,
  options: CallOptions = {},
): Promise<WholeStream> {
  const stream = await openEventStream(target, name, options);
  const end = await stream.ended;
  const { status, headers, text, frames } = stream;
  return { status, headers, text, frames, end };
}

function parseFrame(block: string): Frame | undefined {
  const lines = block.split("\n").filter((line) => !/^(:|retry:)/.test(line));
  if (lines.length === 0) return undefined;
  const fieldOf = (name: string) =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  return {
    raw: lines.join("\n"),
    id: fieldOf("id") ?? "",
    event: fieldOf("event"),
    data: fieldOf("data") ?? "",
  };
}
