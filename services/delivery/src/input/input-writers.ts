import type { Broker } from "@reprise/broker";
import {
  type GenerationRef,
  type InputAppend,
  type InputFormat,
  LIMITS,
  REQUEST_SEQ,
  RepriseError,
  type Seq,
} from "@reprise/protocol";
import { type GenerationLog, type Hub, InputWriter } from "@reprise/stream";
import { readRequested } from "../domain/to-requested.ts";

export interface InputPorts {
  readonly broker: Pick<Broker, "reads">;
  readonly log: GenerationLog;
  readonly hub: Pick<Hub, "open">;
}

/** A generation's input, as far as this node knows it. */
interface OpenInput {
  readonly format: InputFormat;
  readonly writer: InputWriter;
  readonly rate: ByteRate;
}

/** How far a generation's input is stored, and how far its worker has consumed it. */
export interface InputState {
  /** The last entry that is stored; 0 for none. */
  readonly stored: Seq;
  readonly consumed: Seq;
  /** Bytes of text and sound in all of them. */
  readonly bytes: number;
  readonly ended: boolean;
}

/** Inputs that a node keeps open: one is opened again by two reads of the broker. */
const MAX_OPEN = 4_096;
const FULL_RETRY_MS = 100;

/** Appends input to generations, for all connections of a node. */
export class InputWriters {
  readonly #ports: InputPorts;
  readonly #open = new Map<string, Promise<OpenInput>>();

  constructor(ports: InputPorts) {
    this.#ports = ports;
  }

  /**
   * The format in which a generation takes input.
   * @throws RepriseError as `append`
   */
  async formatOf(ref: GenerationRef): Promise<InputFormat> {
    return (await this.#of(ref)).format;
  }

  /**
   * Stores entries, those that are not stored yet.
   * @returns the last entry that is stored, and the last that is consumed
   * @throws RepriseError `input_gap`, `input_ended`, `generation_ended`; `limit_exceeded` with the limit's name when the client has to wait;
   *   `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
   */
  async append(
    ref: GenerationRef,
    { first, entries, bytes }: InputAppend,
  ): Promise<Pick<InputState, "stored" | "consumed">> {
    const { writer, rate } = await this.#of(ref);
    const consumed = await this.#consumed(ref);
    if (writer.bytesAfter(consumed) + bytes > LIMITS.inputAheadBytes)
      throw exceeded("input.ahead_bytes", LIMITS.inputAheadBytes, FULL_RETRY_MS);
    const waitMs = rate.take(bytes);
    if (waitMs > 0) throw exceeded("input.bytes_per_second", LIMITS.inputBytesPerSecond, waitMs);
    return { stored: await writer.append(first, entries), consumed };
  }

  /** @throws RepriseError as `append` */
  async stateOf(ref: GenerationRef): Promise<InputState> {
    const { writer } = await this.#of(ref);
    const { seq: stored, bytes, hasEnded: ended } = await writer.readHead();
    return { stored, consumed: await this.#consumed(ref, true), bytes, ended };
  }

  async #of(ref: GenerationRef): Promise<OpenInput> {
    const key = `${ref.tenant}.${ref.generation}`;
    const known = this.#open.get(key);
    const opened = known ?? this.#openInput(ref);
    this.#open.delete(key);
    this.#open.set(key, opened);
    if (!known) {
      opened.catch(() => this.#open.delete(key));
      const [oldest] = this.#open.keys();
      if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
    }
    return opened;
  }

  async #openInput(ref: GenerationRef): Promise<OpenInput> {
    const { broker, log } = this.#ports;
    const { request } = await readRequested(log, ref);
    if (!request.input_stream)
      throw new RepriseError("input_ended", "The generation has all its input in its request.");
    const { publish, budgetMs } = log;
    const writer = new InputWriter({ publish, reads: broker.reads, ref, budgetMs });
    return { format: request.input_stream.format, writer, rate: new ByteRate(LIMITS.inputBytesPerSecond) };
  }

  async #consumed(ref: GenerationRef, isEndAllowed = false): Promise<Seq> {
    const cache = await this.#ports.hub.open(ref);
    const { transcript } = cache;
    if (cache.ended && !isEndAllowed)
      throw new RepriseError("generation_ended", `The generation is ${transcript?.status ?? "over"}.`);
    // A transcript that is no longer whole in memory: all that this node has stored counts as ahead.
    return transcript?.consumed ?? REQUEST_SEQ;
  }
}

/** Bytes per second, with a second's worth at once. */
class ByteRate {
  readonly #perSecond: number;
  #atMs = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** @returns how long to wait, in milliseconds; 0 if the bytes are taken */
  take(bytes: number, nowMs = performance.now()): number {
    const beginMs = Math.max(this.#atMs, nowMs - 1_000);
    const endMs = beginMs + (bytes / this.#perSecond) * 1_000;
    if (endMs > nowMs) return Math.ceil(endMs - nowMs);
    this.#atMs = endMs;
    return 0;
  }
}

function exceeded(param: string, limit: number, retryAfterMs: number): RepriseError {
  const message = `${param}: at most ${limit}; send the entries again after ${retryAfterMs} ms.`;
  return new RepriseError("limit_exceeded", message, { param, retryAfterMs });
}
