import type { Generation } from "@reprise/protocol/wire";
import type { Client, CreateOptions, GenerationRequest } from "../client.ts";

/** An event that a producer appends: one of PROTOCOL §22.3. */
export interface ProducerEntry {
  readonly type: string;
  readonly text?: string;
  /** Number of the engine's tokens in `text`. Default 1. */
  readonly tokens?: number;
  readonly [field: string]: unknown;
}

export interface ProducerEnd {
  readonly finish_reason?: string;
  /** Default: what the deltas have counted. */
  readonly usage?: Generation["usage"];
}

/** The right to write a generation: in the answer to its create, and to a claim. */
export interface ProducerGrant {
  readonly epoch: number;
  readonly nonce: string;
  /** The number of the next entry. */
  readonly next: number;
  /** Length of the text that is stored. */
  readonly text_length: number;
  /** Silence after which the platform takes the producer for lost, in milliseconds. */
  readonly silence_ms: number;
  /** A stream token with which another process may write, by a client of its own. Absent if the client has a token itself. */
  readonly token?: string;
}

/**
 * Writes one generation. Each call resolves when its entries are stored, and throws RepriseError: `producer_fenced` if another process has claimed the
 * generation, `generation_ended` if that was cancelled, or ended otherwise. What is retryable is repeated, and nothing is stored twice. What is appended while a
 * call is under way goes with the next one, and neighbouring texts as one event: `append` need not be awaited.
 */
export interface Producer extends AsyncDisposable {
  readonly id: string;
  readonly grant: ProducerGrant;
  /** Aborted once nothing more can be written: for the call of the model. The reason is the error. */
  readonly signal: AbortSignal;
  append(said: string | ProducerEntry): Promise<void>;
  /** Appends what waits and `generation.completed`. */
  end(end?: ProducerEnd): Promise<void>;
  /** Appends what waits and `generation.failed`. */
  fail(error: { code: string; message: string; retryable?: boolean }): Promise<void>;
  /** Fails the generation unless it has ended or another process has claimed it. Sends nothing once the caller's own signal is aborted. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface Waiting {
  readonly entry: ProducerEntry;
  /** The calls that wait for it: several if their texts were joined. */
  readonly calls: readonly { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
}

const DELTA = "output.delta";
const MAX_ENTRIES = 256;
/** Characters of one call's entries as JSON, beyond which the rest waits: a body has a MiB at most, and a character three bytes at most. */
const MAX_LENGTH = 128 * 1_024;
/** Characters of one text, which has 16 KiB at most: a character has three bytes at most. */
const MAX_TEXT = 5_461;
/** The longest time between two calls. */
const HEARTBEAT_MS = 5_000;

/**
 * Creates a generation that this process writes.
 * @param options `rewind` withdraws what an earlier producer has said, as `claimProducer` does, if the create joins its generation
 * @throws RepriseError
 */
export async function produce(
  client: Client,
  request: Omit<GenerationRequest, "model">,
  { idempotencyKey, rewind = false, signal }: CreateOptions & { rewind?: boolean } = {},
): Promise<Producer> {
  const { transport } = client;
  const created = await transport.call<Generation & { producer?: ProducerGrant }>(
    {
      method: "POST",
      path: "/v1/generations",
      headers: { "idempotency-key": transport.keyFor(idempotencyKey) },
      body: JSON.stringify({ ...request, model: "external" }),
    },
    signal,
  );
  // The answer to an earlier try was lost, or the key is that of an earlier create.
  if (!created.producer) return claimProducer(client, created.id, { rewind, signal });
  return producerOf(client, created.id, created.producer, { signal });
}

/**
 * Takes a generation over from the process that has written it.
 * @param options `rewind` withdraws what that has said since the last tool's answer. Default: the producer continues after `grant.text_length`
 * @throws RepriseError `generation_ended`
 */
export async function claimProducer(
  client: Client,
  id: string,
  { rewind = false, signal }: { rewind?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<Producer> {
  const { transport } = client;
  const path = `/v1/generations/${transport.segment(id)}/producer`;
  const call = { method: "POST", path, body: JSON.stringify({ rewind }) } as const;
  return producerOf(client, id, await transport.call<ProducerGrant>(call, signal), { signal });
}

/** Writes with a grant that another process was given. */
export function producerOf(
  { transport }: Pick<Client, "transport">,
  id: string,
  grant: ProducerGrant,
  { signal: outer }: { signal?: AbortSignal | undefined } = {},
): Producer {
  const path = `/v1/generations/${transport.segment(id)}/output`;
  const stopped = new AbortController();
  let { next } = grant;
  let waiting: Waiting[] = [];
  let isSending = false;

  const post = (entries: readonly ProducerEntry[]) => {
    const body = JSON.stringify({ epoch: grant.epoch, nonce: grant.nonce, first: next, entries });
    return transport.call<{ stored: number; ended?: string }>({ method: "POST", path, body }, outer);
  };

  const stop = (reason: unknown) => {
    clearInterval(heartbeat);
    stopped.abort(reason);
    for (const { calls } of waiting.splice(0)) for (const { reject } of calls) reject(reason);
  };

  /** One call at a time; what comes meanwhile is sent with the next. */
  async function sendAll(): Promise<void> {
    isSending = true;
    let sent: Waiting[] = [];
    try {
      do {
        sent = waiting.splice(0, countFitting(waiting));
        const answer = await post(sent.map(({ entry }) => entry));
        const stored = sent.splice(0, Math.max(0, answer.stored + 1 - next));
        next += stored.length;
        for (const { calls } of stored) for (const { resolve } of calls) resolve();
        if (answer.ended === undefined) continue;
        throw transport.error("generation_ended", `The generation is ${answer.ended}.`);
      } while (waiting.length > 0);
    } catch (error) {
      // Some of it may be stored: further entries could get the numbers of others.
      waiting = [...sent, ...waiting];
      stop(error);
    }
    isSending = false;
  }

  const send = (entry: ProducerEntry) =>
    new Promise<void>((resolve, reject) => {
      if (stopped.signal.aborted) return reject(stopped.signal.reason);
      const last = waiting.at(-1);
      const joined = last && joinTexts(last.entry, entry);
      const call = { resolve, reject };
      if (joined) waiting[waiting.length - 1] = { entry: joined, calls: [...last.calls, call] };
      else waiting.push({ entry, calls: [call] });
      if (!isSending) void sendAll();
    });
  const heartbeat = setInterval(
    () => {
      if (!isSending) void sendAll();
    },
    Math.min(HEARTBEAT_MS, grant.silence_ms / 3),
  );
  // It keeps no process alive that has nothing else to do.
  (heartbeat as { unref?: () => void }).unref?.();
  if (outer?.aborted) stop(outer.reason);
  outer?.addEventListener("abort", () => stop(outer.reason), { signal: stopped.signal });

  const producer: Producer = {
    id,
    grant,
    signal: stopped.signal,
    append(said) {
      const entries = typeof said === "string" ? piecesOf(DELTA, said) : [said];
      const stored = Promise.all(entries.map(send)).then(() => {});
      // A caller who does not wait for it learns of an error by the signal and by `end`.
      stored.catch(() => {});
      return stored;
    },
    end: (end = {}) => send({ type: "generation.completed", ...end }),
    fail: (error) => send({ type: "generation.failed", error }),
    async [Symbol.asyncDispose]() {
      const error = { code: "producer_closed", message: "The producer has stopped before its end." };
      const failAfter = async ({ code }: { code?: string }) => {
        if (outer?.aborted || code === "producer_fenced" || code === "generation_ended") return;
        // Some of what was refused may be stored.
        next = (await post([])).stored + 1;
        await post([{ type: "generation.failed", error }]);
      };
      await producer
        .fail(error)
        .catch(failAfter)
        .catch(() => {});
    },
  };
  return producer;
}

export function piecesOf(type: string, text: string): ProducerEntry[] {
  const pieces: ProducerEntry[] = [];
  for (let rest = text; rest !== "";) {
    const high = rest.charCodeAt(MAX_TEXT - 1);
    // Both halves of a character go together.
    const length = high >= 0xd800 && high < 0xdc00 ? MAX_TEXT - 1 : MAX_TEXT;
    pieces.push({ type, text: rest.slice(0, length) });
    rest = rest.slice(length);
  }
  return pieces;
}

/** @returns undefined if the two can't be one event */
function joinTexts(last: ProducerEntry, next: ProducerEntry): ProducerEntry | undefined {
  if (!isPlain(last) || !isPlain(next) || last.text.length + next.text.length > MAX_TEXT) return undefined;
  return { type: DELTA, text: last.text + next.text, tokens: (last.tokens ?? 1) + (next.tokens ?? 1) };
}

function isPlain(entry: ProducerEntry): entry is ProducerEntry & { readonly text: string } {
  const { type, text, tokens: _, ...others } = entry;
  return type === DELTA && text !== undefined && Object.keys(others).length === 0;
}

function countFitting(waiting: readonly Waiting[]): number {
  let length = 0;
  const end = waiting.findIndex(({ entry }) => (length += JSON.stringify(entry).length) > MAX_LENGTH);
  return Math.min(MAX_ENTRIES, end === -1 ? waiting.length : Math.max(1, end));
}
