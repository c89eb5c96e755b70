import { RepriseError } from "../errors/reprise-error.ts";

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
  /** Milliseconds of the server's last `retry:` field. At most 2^31-1, the longest delay that timers accept. */
  readonly retryMs: number | undefined;
}

export interface SseDecoderOptions {
  /** The most characters that one unfinished message may hold. Default 16 Mi. */
  maxMessageLength?: number;
}

const DEFAULT_MAX_MESSAGE_LENGTH = 16 * 1_024 * 1_024;
const MAX_RETRY_MS = 2_147_483_647;
const LINE_END = /\r\n?|\n/g;

/**
 * An incremental decoder of `text/event-stream` as the WHATWG HTML standard (§9.2.6) defines it: any of CR, LF and CRLF ends
 * a line, a leading BOM is dropped, an unfinished message at the end of the stream is discarded. It is right at any byte
 * boundary, within a UTF-8 sequence and between CR and LF too, and takes time linear in the bytes, however small the chunks.
 *
 * `push` throws RepriseError `protocol_violation` when a message outgrows `maxMessageLength`.
 */
export function createSseDecoder({
  maxMessageLength = DEFAULT_MAX_MESSAGE_LENGTH,
}: SseDecoderOptions = {}): SseDecoder {
  const utf8 = new TextDecoder();
  // The pieces of a line whose end has not come yet; joined once, when it comes.
  let pieces: string[] = [];
  let piecesLength = 0;
  let afterCr = false;
  let id = "";
  let event = "";
  let data: string[] = [];
  let dataLength = 0;
  let retryMs: number | undefined;

  function takeLine(lastPiece: string): string {
    if (pieces.length === 0) return lastPiece;
    const line = pieces.join("") + lastPiece;
    pieces = [];
    piecesLength = 0;
    return line;
  }

  function takeField(line: string): void {
    const colon = line.indexOf(":");
    // A comment's name is "".
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") {
      data.push(value);
      dataLength += value.length + 1;
    } else if (name === "id") {
      if (!value.includes("\0")) id = value;
    } else if (name === "event") event = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) retryMs = Math.min(Number(value), MAX_RETRY_MS);
  }

  function takeMessage(): SseMessage | undefined {
    const message = data.length > 0 ? { id, event: event || "message", data: data.join("\n") } : undefined;
    event = "";
    data = [];
    dataLength = 0;
    return message;
  }

  return {
    push(chunk) {
      const messages: SseMessage[] = [];
      const text = utf8.decode(chunk, { stream: true });
      if (text === "") return messages;
      // The CR that ended the last chunk has ended its line; an LF here is its second half.
      let start = afterCr && text.startsWith("\n") ? 1 : 0;
      afterCr = text.endsWith("\r");
      LINE_END.lastIndex = start;
      for (let end = LINE_END.exec(text); end; end = LINE_END.exec(text)) {
        const line = takeLine(text.slice(start, end.index));
        start = LINE_END.lastIndex;
        if (line === "") {
          const message = takeMessage();
          if (message) messages.push(message);
        } else takeField(line);
      }
      if (start < text.length) {
        pieces.push(text.slice(start));
        piecesLength += text.length - start;
      }
      if (piecesLength + dataLength > maxMessageLength) {
        throw new RepriseError(
          "protocol_violation",
          `An SSE message is longer than ${maxMessageLength} characters.`,
        );
      }
      return messages;
    },
    get retryMs() {
      return retryMs;
    },
  };
}
