import type { Client } from "../client.ts";
import { BEGINNING, type DurableChunk, PATH, pathOf, readChunks } from "./read-chunks.ts";

/** The part of a `Request` that says which run it is about. */
export interface RunRequest {
  readonly url: string;
  readonly headers: { get(name: string): string | null };
}

export interface StartOptions {
  /** The model, where the input's `forwardedProps` name none. */
  model?: string;
}

/**
 * A run of TanStack AI that is a generation, for a route handler of one's own: what `toServerSentEventsResponse` and `resumeServerSentEventsResponse` of
 * `@tanstack/ai` call a durability adapter (`StreamDurability`).
 *
 * The log is the generation's own: nothing is stored twice, and the end of the handler's process ends no run. An offset is the number of a chunk, from 0,
 * the same in every process.
 */
export interface DurableRun<Chunk extends object> {
  /** The offset at which the request resumes: its `Last-Event-ID`, or `offset` of its URL; null if it begins a run. */
  resumeFrom(): string | null;
  /**
   * Begins the run, or joins it if it exists. A broken connection to the platform is re-established, and the chunks continue after the last one.
   * @param input the body that TanStack's client has sent, a `RunAgentInput`: the handler may change all of it but `runId`
   * @throws RepriseError as the client's own calls do, from the loop
   */
  start(input: { readonly runId: string }, options?: StartOptions): AsyncIterable<Chunk>;
  /**
   * The offsets of chunks that `start` has given: they are stored by then. Nothing else can be appended, since the log holds what was generated.
   * @throws RepriseError `invalid_request` for any other chunk
   */
  append(chunks: Chunk[]): Promise<string[]>;
  /**
   * The chunks after an offset, to the run's end. `-1` is the beginning, and waits a few seconds for a run that does not exist yet.
   * @throws RepriseError `generation_not_found`, `cursor_invalid`, and as the client's own calls do, from the loop; the signal's reason
   */
  read(offset: string, signal?: AbortSignal): AsyncIterable<DurableChunk<Chunk>>;
  /**
   * The chunks so far; empty for a run that does not exist.
   * @throws RepriseError as the client's own calls do
   */
  snapshot(): Promise<DurableChunk<Chunk>[]>;
  /** Does nothing: a run ends by itself, or is cancelled. */
  close(): Promise<void>;
}

/** Chunks that `@tanstack/ai` appends by itself: that the run was accepted, and the failure of a handler, which a reader of the log does not see. */
const ACCEPTED = "run.accepted";
const FAILED = "RUN_ERROR";

/**
 * The run of a request that TanStack's client has made. Who may read which run is for the handler to say: a run is known by the name that the client gave
 * it, among those of the client's key or, with a stream token, of its end user.
 * @typeParam Chunk `StreamChunk` of `@tanstack/ai`
 */
export function durableRun<Chunk extends { readonly type: string; readonly name?: unknown }>(
  { transport }: Client,
  { url, headers }: RunRequest,
): DurableRun<Chunk> {
  const { searchParams } = new URL(url);
  const resumeOffset = headers.get("last-event-id") || searchParams.get("offset");
  const runId = headers.get("x-run-id") || searchParams.get("runId");
  const offsets = new WeakMap<object, string>();
  let last = BEGINNING;

  const named = (): string => {
    if (runId !== null) return runId;
    throw transport.error(
      "invalid_request",
      "The request names no run: neither X-Run-Id nor runId is there.",
    );
  };

  const offsetOf = (chunk: Chunk): string => {
    const offset = offsets.get(chunk);
    if (offset !== undefined) return offset;
    if (chunk.name === ACCEPTED) return BEGINNING;
    if (chunk.type === FAILED) return `${last}+`;
    throw transport.error(
      "invalid_request",
      `A ${chunk.type} that is not of this run can't be appended to it.`,
    );
  };

  return {
    resumeFrom: () => resumeOffset,
    async *start(input, { model } = {}) {
      const path = model === undefined ? PATH : `${PATH}?${new URLSearchParams({ model }).toString()}`;
      const begin = { method: "POST", path, body: JSON.stringify(input) } as const;
      const read = readChunks<Chunk>(transport, { runId: input.runId, after: BEGINNING, begin });
      for await (const { offset, chunk } of read) {
        offsets.set(chunk, offset);
        last = offset;
        yield chunk;
      }
    },
    append: async (chunks) => chunks.map(offsetOf),
    async *read(offset, signal) {
      yield* readChunks<Chunk>(transport, { runId: named(), after: offset, signal });
    },
    async snapshot() {
      const all: DurableChunk<Chunk>[] = [];
      for (let after = BEGINNING; ; after = all.at(-1)!.offset) {
        const request = { method: "GET", path: pathOf(named(), after) } as const;
        const { chunks } = await transport.call<Page<Chunk>>(request).catch(unlessMissing);
        if (chunks.length === 0) return all;
        all.push(...chunks.map(({ id, chunk }) => ({ offset: id, chunk })));
      }
    },
    close: () => Promise.resolve(),
  };
}

interface Page<Chunk> {
  readonly chunks: readonly { readonly id: string; readonly chunk: Chunk }[];
}

function unlessMissing(error: unknown): Page<never> {
  if (error instanceof Error && "code" in error && error.code === "generation_not_found")
    return { chunks: [] };
  throw error;
}
