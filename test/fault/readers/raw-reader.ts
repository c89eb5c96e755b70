import { setTimeout as delay } from "node:timers/promises";
import { type ErrorBody, isErrorCode, parseCursor, RepriseError } from "@reprise/protocol";
import { openSseReader, type SseReader } from "@reprise/testkit";
import {
  Gate,
  type Reader,
  type ReaderEnd,
  type ReaderRecord,
  type ResponseEnd,
  toEnd,
} from "./reader-record.ts";

export interface RawReaderOptions {
  /** Nodes to read from; a reader whose connection breaks continues at the next node. */
  readonly urls: readonly string[];
  /** Where in `urls` it begins. */
  readonly first: number;
  readonly random: () => number;
  /** True if a fault may have broken a response of a node (an index of `urls`) to this port. Default: none has. */
  readonly isExcused?: (node: number, port: number) => boolean;
  /** A connection without an event for so long is given up, in milliseconds. Default 45,000, as PROTOCOL.md §8.1.3 says of bytes. */
  readonly idleMs?: number;
}

type Ending =
  | ReaderEnd
  | { readonly type: "broken"; readonly progressed: boolean; readonly serverSaidMs: number };

const IDLE_MS = 45_000;
const BASE_MS = 250;
const MOST_MS = 8_000;
const LEFT: ReaderEnd = { type: "left" };
/** Said without parsing the event: thousands of these readers share two cores with what they test. */
const TERMINAL = /^\{"seq":[0-9]+,"type":"generation\.(?:completed|failed|cancelled)"/;

/**
 * Follows a generation as PROTOCOL.md §8 says a client does, with nothing between the wire and the record: light enough for
 * thousands. It never gives up on a failure that is retryable; its caller sets the limit.
 */
export function followRaw(record: ReaderRecord, options: RawReaderOptions): Reader {
  const { urls, first, random, isExcused = () => false, idleMs = IDLE_MS } = options;
  const { id, tenant } = record.generation;
  const leaving = new AbortController();
  const gate = new Gate();
  let connection: SseReader | undefined;
  let cursor: string | undefined;
  let isTold = false;

  async function read(node: number): Promise<Ending> {
    let progressed = false;
    let serverSaidMs = 0;
    const wasTold = isTold;
    // After the terminal event moderation may append more; one more read is enough for that.
    const broken = (): Ending => (wasTold ? { type: "ended" } : { type: "broken", progressed, serverSaidMs });
    const failed = ({ code, message, retryable }: RepriseError): Ending =>
      retryable || isTold ? broken() : { type: "refused", code, message };
    try {
      connection = await openSseReader(`${urls[node]}/v1/generations/${id}/events`, {
        headers: { authorization: `Bearer ${tenant.key}` },
        lastEventId: cursor,
      });
    } catch {
      return broken();
    }
    await using opened = connection;
    if (leaving.signal.aborted) return LEFT;
    if (gate.isClosed) opened.pause();
    const ends = (how: ResponseEnd["how"]): void => {
      const excused = isExcused(node, opened.localPort);
      record.responses.push({ connection: record.connections, how, isTold, isExcused: excused });
    };
    if (opened.status === 204) {
      ends("clean");
      return { type: "ended" };
    }
    if (opened.status !== 200) {
      await opened.ended;
      serverSaidMs = Number(opened.headers["retry-after"] ?? 0) * 1_000;
      return failed(parseAnswerError(opened.bytes.toString()));
    }
    for (;;) {
      const frame = await withIdleLimit(opened);
      await gate.passed();
      serverSaidMs = opened.retryMs ?? serverSaidMs;
      if (leaving.signal.aborted) return LEFT;
      if (frame === undefined) {
        const how = await opened.ended;
        ends(how);
        return isTold && how === "clean" ? { type: "ended" } : broken();
      }
      if (frame.event === "error") {
        ends("error");
        return failed(parseAnswerError(frame.data));
      }
      if (frame.data === "") continue;
      progressed = true;
      cursor = frame.id;
      record.show(parseCursor(frame.id).seq, frame.data);
      isTold ||= TERMINAL.test(frame.data);
    }
  }

  /** The next frame; a connection that is silent for too long is cut, and ends. */
  async function withIdleLimit(opened: SseReader) {
    const timer = setTimeout(() => gate.isClosed || opened.cut(), idleMs);
    try {
      return await opened.nextFrame();
    } finally {
      clearTimeout(timer);
    }
  }

  async function run(): Promise<ReaderEnd> {
    for (let failures = 0; ;) {
      const node = (first + record.connections) % urls.length;
      record.node = node;
      record.connections++;
      const ending = await read(node);
      if (ending.type !== "broken") return ending;
      failures = ending.progressed ? 1 : failures + 1;
      await delay(backoffMs(failures, ending.serverSaidMs, random), undefined, { signal: leaving.signal });
    }
  }

  void run()
    .catch((thrown: unknown) => toEnd(thrown, leaving.signal))
    .then((end) => record.finish(end));
  return {
    record,
    pause() {
      gate.close();
      connection?.pause();
    },
    resume() {
      gate.open();
      connection?.resume();
    },
    leave() {
      leaving.abort();
      gate.open();
      connection?.cut();
    },
  };
}

/** Returns the wait before the next connection (PROTOCOL.md §8.3.1): the server's, plus a random part of a delay that doubles with every failure in a row. */
function backoffMs(failures: number, serverSaidMs: number, random: () => number): number {
  return serverSaidMs + random() * Math.min(MOST_MS, BASE_MS * 2 ** (failures - 1));
}

/** Parses the error of an answer or of an error frame. A body that is cut short or not the platform's is a broken connection, which is retried. */
function parseAnswerError(body: string): RepriseError {
  const { code, message } = readError(body) ?? {};
  if (isErrorCode(code)) return new RepriseError(code, String(message));
  return new RepriseError("connection_lost", "The answer is cut short.");
}

function readError(body: string): Partial<ErrorBody["error"]> | undefined {
  try {
    return (JSON.parse(body) as Partial<ErrorBody>).error;
  } catch {
    return undefined;
  }
}
