import { pause, waitAtMost } from "@reprise/async";
import type { GenerationLog } from "@reprise/stream";
import {
  type GenerationRef,
  isTerminal,
  peekType,
  decodeEvent,
  toRepriseError,
  type Usage,
} from "@reprise/protocol";

export interface HeldGenerationsOptions {
  readonly reader: Pick<GenerationLog["reader"], "readLast" | "readLog">;
  /** Called for a generation that has ended, with its usage where the log tells it, and for one that has no log. */
  readonly onEnded: (ref: GenerationRef, usage: Usage | undefined) => void;
  readonly onError: (error: unknown) => void;
  /** Milliseconds that a generation is held before the log is checked for its end, and between two rounds. Default 60 s. */
  readonly everyMs?: number | undefined;
}

interface Held {
  readonly ref: GenerationRef;
  readonly askedAtMs: number;
  creates: number;
}

const EVERY_MS = 60_000;
/** Generations that one round asks about: one read each. Those that were asked about longest ago are first. */
const MAX_CHECKS = 600;
const CLOSE_MS = 1_000;

/**
 * The generations that hold a share of a limit through this node. Ends are announced at most once, and a create may fail without telling whether its job is
 * stored. So the log is checked periodically, and a generation that has ended there, or has no log by then, is released. A generation whose creator failed
 * after storing its job, and that waits in the queue for longer, has no log yet either: it is no longer counted.
 */
export class HeldGenerations implements AsyncDisposable {
  readonly #options: HeldGenerationsOptions;
  readonly #everyMs: number;
  readonly #held = new Map<string, Held>();
  readonly #closed = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: HeldGenerationsOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#running = this.#run();
  }

  /** A create of the generation holds its share. Several may, with one Idempotency-Key. */
  add(ref: GenerationRef): void {
    const creates = (this.#held.get(ref.generation)?.creates ?? 0) + 1;
    this.#set(ref, creates);
  }

  /** A create that held a share has failed. Returns whether the generation has no other one, and so holds nothing any more. */
  abandon({ generation }: GenerationRef): boolean {
    const held = this.#held.get(generation);
    if (held && --held.creates > 0) return false;
    this.#held.delete(generation);
    return true;
  }

  delete(generation: string): void {
    this.#held.delete(generation);
  }

  /** After those that were asked about longer ago. */
  #set(ref: GenerationRef, creates: number): void {
    this.#held.delete(ref.generation);
    this.#held.set(ref.generation, { ref, askedAtMs: performance.now(), creates });
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    for (;;) {
      await pause(this.#everyMs, signal);
      if (signal.aborted) return;
      await this.#check().catch(this.#options.onError);
    }
  }

  /** @throws RepriseError `broker_unavailable`; the rest is asked about in the next round */
  async #check(): Promise<void> {
    const nowMs = performance.now();
    const due = [...this.#held.values().take(MAX_CHECKS)].filter(
      ({ askedAtMs }) => askedAtMs + this.#everyMs <= nowMs,
    );
    for (const asked of due) {
      if (this.#closed.signal.aborted) return;
      const { ref } = asked;
      const end = await readEnd(this.#options.reader, ref);
      // A create that has come meanwhile is asked about in its turn.
      if (this.#held.get(ref.generation) !== asked) continue;
      if (end === "running") this.#set(ref, asked.creates);
      else {
        this.#held.delete(ref.generation);
        this.#options.onEnded(ref, end.usage);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await waitAtMost(CLOSE_MS, this.#running);
  }
}

async function readEnd(
  reader: HeldGenerationsOptions["reader"],
  ref: GenerationRef,
): Promise<"running" | { readonly usage?: Usage | undefined }> {
  const last = await reader.readLast(ref);
  if (!last) return {};
  if (isTerminal(peekType(last.payload))) return { usage: usageOf(last.payload) };
  // Moderation may append after the end.
  if (!peekType(last.payload).startsWith("moderation.")) return "running";
  try {
    const { events } = await reader.readLog(ref);
    const end = events.findLast((payload) => isTerminal(peekType(payload)));
    return end ? { usage: usageOf(end) } : "running";
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.code === "generation_expired" || error.code === "generation_erased") return {};
    throw error;
  }
}

function usageOf(payload: Uint8Array): Usage | undefined {
  const event = decodeEvent(payload);
  switch (event.type) {
    case "generation.completed":
    case "generation.failed":
    case "generation.cancelled":
      return event.usage;
    default:
      return undefined;
  }
}
