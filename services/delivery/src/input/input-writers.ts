import type { Broker } from "@reprise/broker";
import {
  type GenerationRef,
  type InputAppend,
  inputBytes,
  type InputEntry,
  type InputFormat,
  LIMITS,
  REQUEST_SEQ,
  RepriseError,
  type Seq,
} from "@reprise/protocol";
import { type GenerationCache, type GenerationLog, type Hub, InputWriter } from "@reprise/stream";
import type { RateState } from "@reprise/tenancy";
import { readRequested } from "../domain/to-requested.ts";
import { beyondBytes, takeBytes } from "../limits/take-bytes.ts";

export interface InputPorts {
  readonly broker: Pick<Broker, "reads">;
  readonly log: GenerationLog;
  readonly hub: Pick<Hub, "open" | "refresh">;
}

/** A generation's input, as far as this node knows it. */
interface OpenInput {
  readonly format: InputFormat;
  readonly writer: InputWriter;
  /** Bytes taken in the last second. */
  rate: RateState | undefined;
}

/** State of a generation's input. */
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
    { first, entries }: InputAppend,
  ): Promise<Pick<InputState, "stored" | "consumed">> {
    const input = await this.#of(ref);
    const { writer } = input;
    const cache = await this.#ports.hub.open(ref);
    // The end of a generation may come before the answer to its last entries, which are sent again then.
    if (cache.ended) await writer.readHead();
    const fresh = await writer.freshOf(first, entries);
    if (fresh.length > 0) await this.#admit(input, cache, fresh);
    return { stored: await writer.append(first, entries), consumed: consumedOf(cache) };
  }

  /** @throws RepriseError `generation_ended`, `limit_exceeded`, `broker_unavailable` */
  async #admit(input: OpenInput, cache: GenerationCache, fresh: readonly InputEntry[]): Promise<void> {
    const bytes = fresh.reduce((sum, entry) => sum + inputBytes(entry), 0);
    const isAhead = () => input.writer.bytesAfter(consumedOf(cache)) + bytes > LIMITS.inputAheadBytes;
    // The live feed may have lost the last event, and the hub looks for it only if there are readers.
    if (isAhead() && !cache.ended) await this.#ports.hub.refresh(cache);
    if (cache.ended)
      throw new RepriseError("generation_ended", "The generation has ended; it takes no more input.");
    if (isAhead()) throw beyondBytes("input.ahead_bytes", LIMITS.inputAheadBytes, FULL_RETRY_MS);
    input.rate = takeBytes("input.bytes_per_second", input.rate, bytes);
  }

  /** @throws RepriseError as `append` */
  async stateOf(ref: GenerationRef): Promise<InputState> {
    const { writer } = await this.#of(ref);
    const { seq: stored, bytes, hasEnded: ended } = await writer.readHead();
    const cache = await this.#ports.hub.open(ref);
    if (!cache.ended) await this.#ports.hub.refresh(cache);
    return { stored, consumed: consumedOf(cache), bytes, ended };
  }

  /** @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable` */
  async committedOf(ref: GenerationRef): Promise<Seq | undefined> {
    const { requested } = await this.#ports.hub.open(ref);
    if (!requested?.request.input_stream) return undefined;
    return (await (await this.#of(ref)).writer.readHead()).committed;
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
    return { format: request.input_stream.format, writer, rate: undefined };
  }
}

function consumedOf({ figures }: GenerationCache): Seq {
  return figures.input?.last ?? REQUEST_SEQ;
}
