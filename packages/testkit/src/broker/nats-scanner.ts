/** A message with a payload from one side of a NATS connection to the other: PUB, HPUB, MSG or HMSG. */
export interface NatsMessage {
  readonly subject: string;
  /** "" where no answer is asked for. */
  readonly reply: string;
  readonly payload: Buffer;
}

export interface NatsScannerOptions {
  /** True if the payload of a message is wanted. Other payloads are skipped without a copy. */
  readonly wants: (subject: string, reply: string) => boolean;
  readonly onMessage: (message: NatsMessage) => void;
}

interface Body {
  readonly subject: string;
  readonly reply: string;
  readonly headerBytes: number;
  /** Bytes of headers and payload, and the line end after them. */
  readonly totalBytes: number;
  /** Undefined where the payload is not wanted. */
  readonly chunks: Buffer[] | undefined;
  missingBytes: number;
}

const LINE_END = "\r\n";
const NOTHING = Buffer.alloc(0);

/**
 * Reads one direction of a NATS connection as it passes by, in any pieces. Control lines without a payload (PING, SUB,
 * INFO, …) are passed over.
 */
export class NatsScanner {
  readonly #options: NatsScannerOptions;
  #line: Buffer = NOTHING;
  #body: Body | undefined;

  constructor(options: NatsScannerOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0;) rest = this.#body ? this.#takeBody(rest) : this.#takeLine(rest);
  }

  #takeLine(bytes: Buffer): Buffer {
    const joined = this.#line.length === 0 ? bytes : Buffer.concat([this.#line, bytes]);
    const end = joined.indexOf(LINE_END);
    if (end < 0) {
      this.#line = Buffer.from(joined);
      return NOTHING;
    }
    this.#line = NOTHING;
    this.#body = this.#begin(joined.toString("latin1", 0, end));
    return joined.subarray(end + LINE_END.length);
  }

  /** The body that a control line announces. */
  #begin(line: string): Body | undefined {
    const [operation = "", ...args] = line.split(/[ \t]+/);
    const name = operation.toUpperCase();
    const hasHeaders = name === "HPUB" || name === "HMSG";
    const isPublish = name === "PUB" || name === "HPUB";
    if (!hasHeaders && !isPublish && name !== "MSG") return undefined;
    // Subject, [subscription], [reply], [bytes of the headers], bytes in all.
    const totalBytes = Number(args.at(-1));
    const headerBytes = hasHeaders ? Number(args.at(-2)) : 0;
    const leading = isPublish ? 1 : 2;
    const trailing = hasHeaders ? 2 : 1;
    const subject = args[0] ?? "";
    const reply = args.length > leading + trailing ? args[leading]! : "";
    const isWanted = this.#options.wants(subject, reply);
    const withEnd = totalBytes + LINE_END.length;
    return {
      subject,
      reply,
      headerBytes,
      totalBytes: withEnd,
      chunks: isWanted ? [] : undefined,
      missingBytes: withEnd,
    };
  }

  #takeBody(bytes: Buffer): Buffer {
    const body = this.#body!;
    const piece = bytes.subarray(0, body.missingBytes);
    body.missingBytes -= piece.length;
    body.chunks?.push(Buffer.from(piece));
    if (body.missingBytes === 0) {
      this.#body = undefined;
      const { subject, reply, headerBytes, totalBytes, chunks } = body;
      if (chunks) {
        const payload = Buffer.concat(chunks).subarray(headerBytes, totalBytes - LINE_END.length);
        this.#options.onMessage({ subject, reply, payload });
      }
    }
    return bytes.subarray(piece.length);
  }
}
