import type { SseMessage } from "@reprise/protocol/wire";
import type { Exchange, HttpRequest } from "../http/http.ts";
import type { Transport } from "../http/transport.ts";

export const PATH = "/v1/tanstack/chat";
/** The offset before a run's first chunk. */
export const BEGINNING = "-1";
/** After an offset: of a chunk that has no number of its own, as the last one has none where it is sent again. */
const UNNUMBERED = "+";
/** Maximum requests for a run that does not exist yet, within a few seconds. */
const MOST_WAITS = 5;

/** A chunk, and the offset at which a reader continues after it. */
export interface DurableChunk<Chunk> {
  readonly offset: string;
  readonly chunk: Chunk;
}

export interface ChunkRead {
  readonly runId: string;
  /** Offset to continue after. */
  readonly after: string;
  /** Request that begins the run, until a chunk has come. Default: the run has begun. */
  readonly begin?: HttpRequest;
  readonly signal?: AbortSignal | undefined;
}

/** The chunks of a run after an offset, to its end, over as many connections as it takes. */
export async function* readChunks<Chunk extends object>(
  transport: Transport,
  { runId, after, begin, signal }: ChunkRead,
): AsyncGenerator<DurableChunk<Chunk>, void, undefined> {
  let offset = after;
  let waits = 0;
  let exchange: Exchange | undefined;
  let decoder = transport.sse();
  const drop = (): void => {
    exchange?.close();
    exchange = undefined;
    decoder = transport.sse();
  };

  async function open(running: AbortSignal): Promise<Exchange> {
    const request =
      begin && offset === after ? begin : { method: "GET" as const, path: pathOf(runId, offset) };
    const headers = { ...request.headers, accept: "text/event-stream" };
    const opened = await transport.exchange({ ...request, headers }, running);
    if (opened.status === 200) return opened;
    try {
      const error = await opened.error();
      // The process that begins it may be at it.
      if (error.code === "generation_not_found" && offset === BEGINNING && waits++ < MOST_WAITS)
        throw transport.error("connection_lost", error.message);
      throw error;
    } finally {
      opened.close();
    }
  }

  const next = () =>
    transport.retry(async (running): Promise<SseMessage[]> => {
      try {
        exchange ??= await open(running);
        const bytes = await exchange.read();
        if (bytes) return decoder.push(bytes);
      } catch (error) {
        drop();
        throw error;
      }
      drop();
      throw transport.error("connection_lost", "The answer ended before its run did.");
    }, signal);

  try {
    for (;;)
      for (const { id, data } of await next()) {
        const chunk = parseChunk(transport, data) as Chunk;
        offset = id === "" || id === offset ? numberOf(offset) + UNNUMBERED : id;
        yield { offset, chunk };
        if (isEnd(chunk)) return;
      }
  } finally {
    exchange?.close();
  }
}

/** Path that reads a run after an offset. */
export function pathOf(runId: string, offset: string): string {
  return `${PATH}?${new URLSearchParams({ runId, offset: numberOf(offset) }).toString()}`;
}

function numberOf(offset: string): string {
  return offset.endsWith(UNNUMBERED) ? offset.slice(0, -1) : offset;
}

function parseChunk(transport: Transport, data: string): object {
  try {
    const chunk: unknown = JSON.parse(data);
    if (typeof chunk === "object" && chunk !== null) return chunk;
  } catch {
    // The cause would quote a piece of the text.
  }
  throw transport.error("protocol_violation", "A chunk is not a JSON object.");
}

function isEnd(chunk: { readonly type?: unknown }): boolean {
  return chunk.type === "RUN_FINISHED" || chunk.type === "RUN_ERROR";
}
