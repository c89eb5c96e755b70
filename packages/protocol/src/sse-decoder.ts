import { RepriseError } from "./reprise-error.ts";

export interface SseMessage {
  /** The last `id:` seen so far on this stream, "" before the first. */
  id: string;
  /** The `event:` field, "message" when there was none. */
  event: string;
  data: string;
}

export interface SseDecoder {
  /** Feeds bytes, cut anywhere, and returns the messages they complete. */
  push(chunk: Uint8Array): SseMessage[];
  /** What the server's last `retry:` field said, in milliseconds. */
  readonly retryMs: number | undefined;
}

export interface SseDecoderOptions {
  /** The most characters that one unfinished message may hold. Default 16 Mi. */
  maxMessageLength?: number;
}

const DEFAULT_MAX_MESSAGE_LENGTH = 16 * 1_024 * 1_024;

/**
 * An incremental decoder of `text/event-stream` as the WHATWG HTML standard (§9.2.6) defines it: any of CR, LF and CRLF ends
 * a line, a leading BOM is dropped, an unfinished message at the end of the stream is discarded. It is right at any byte
 * boundary, within a UTF-8 sequence and between CR and LF too.
 *
 * `push` throws RepriseError `protocol_violation` when a message outgrows `maxMessageLength`.
 */
export function createSseDecoder({ maxMessageLength = DEFAULT_MAX_MESSAGE_LENGTH }: SseDecoderOptions = {}): SseDecoder {
  const utf8 = new TextDecoder();
  let rest = "";
  let skipLf = false;
  let id = "";
  let event = "";
  let data: string[] = [];
  let dataLength = 0;
  let retryMs: number | undefined;

  function field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const start = line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(start);
    if (name === "data") {
      data.push(value);
      dataLength += value.length + 1;
    } else if (name === "id") {
      if (!value.includes("\0")) id = value;
    } else if (name === "event") event = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) retryMs = Number(value);
  }

  function line(text: string, out: SseMessage[]): void {
    if (text !== "") return field(text);
    if (data.length > 0) out.push({ id, event: event === "" ? "message" : event, data: data.join("\n") });
    event = "";
    data = [];
    dataLength = 0;
  }

  return {
    push(chunk) {
      const out: SseMessage[] = [];
      let text = utf8.decode(chunk, { stream: true });
      if (skipLf && text !== "") {
        if (text.startsWith("\n")) text = text.slice(1);
        skipLf = false;
      }
      // `rest` holds no line end, so the search begins where the new text does.
      const searchFrom = rest.length;
      text = rest + text;
      let start = 0;
      LINE_END.lastIndex = searchFrom;
      for (let match = LINE_END.exec(text); match; match = LINE_END.exec(text)) {
        line(text.slice(start, match.index), out);
        start = LINE_END.lastIndex;
        // A CR that ends the chunk may be the first half of a CRLF.
        skipLf = start === text.length && match[0] === "\r";
      }
      rest = text.slice(start);
      if (rest.length + dataLength > maxMessageLength) {
        throw new RepriseError("protocol_violation", `An SSE message is longer than ${maxMessageLength} characters.`);
      }
      return out;
    },
    get retryMs() {
      return retryMs;
    },
  };
}

const LINE_END = /\r\n|\n|\r/g;
