import { pause, waitAtMost } from "@reprise/async";
import type { Broker } from "@reprise/broker";
import { unixNow } from "@reprise/protocol";
import type { LanePlaces } from "./lane-places.ts";
import { readStreamProgress, type StreamProgress } from "./stream-progress.ts";

export interface LaneProgressOptions {
  readonly connection: Broker["reads"];
  readonly places: LanePlaces;
  /** From one reading to the next, where none is asked for. Default 15 s. */
  readonly everyMs?: number;
  /** For how long a reading is shared. Default 1 s. */
  readonly freshMs?: number;
}

interface Read {
  readonly progress: Promise<StreamProgress | undefined>;
  readonly atMs: number;
}

const EVERY_MS = 15_000;
/** Several questions at once share one reading. What was true then is still true. */
const FRESH_MS = 1_000;
/** For so long an answer waits for a broker that does not answer. */
const WAIT_MS = 2_000;
const US_PER_MS = 1_000;

/** Up to when rows are whole, and how long the oldest message that is in no row has waited, over all streams: also of those whose lanes run elsewhere, or nowhere. */
export class LaneProgress {
  readonly #options: LaneProgressOptions;
  readonly #reads = new Map<string, Read>();
  /** The progress at the last read, by stream. */
  readonly #known = new Map<string, StreamProgress>();

  constructor(options: LaneProgressOptions) {
    this.#options = options;
  }

  /**
   * Everything that was stored in these streams before it is in rows that are read later, or expired before analytics read it.
   * @returns RFC 3339; null where it is not known of each stream
   */
  async completeUntil(streams: readonly string[]): Promise<string | null> {
    const until = await Promise.all(streams.map((stream) => this.#completeUntilUs(stream)));
    const known = until.filter((us) => us !== undefined);
    if (known.length < streams.length) return null;
    return new Date(Math.floor(Math.min(...known) / US_PER_MS)).toISOString();
  }

  /**
   * The longest that a message without a row has waited, as a share of the time for which its stream keeps it: at 1 it expires. As of some seconds ago; undefined
   * before the first reading.
   */
  get unreadRatio(): number | undefined {
    const nowUs = unixNow() * US_PER_MS;
    const ratios = [...this.#known.values()].map(({ unreadSinceUs, maxAgeUs }) =>
      unreadSinceUs === undefined ? 0 : Math.max(0, (nowUs - unreadSinceUs) / maxAgeUs),
    );
    return ratios.length === 0 ? undefined : Math.max(...ratios);
  }

  /** Reads these streams again and again, until `signal` aborts. A failure keeps what was read before. */
  async watch(streams: readonly string[], signal: AbortSignal): Promise<void> {
    const { everyMs = EVERY_MS } = this.#options;
    while (!signal.aborted) {
      for (const stream of streams) if (!signal.aborted) await this.#read(stream);
      await pause(everyMs, signal);
    }
  }

  async #completeUntilUs(stream: string): Promise<number | undefined> {
    await waitAtMost(WAIT_MS, this.#read(stream));
    return this.#known.get(stream)?.completeUntilUs;
  }

  #read(stream: string): Promise<StreamProgress | undefined> {
    const before = this.#reads.get(stream);
    const { freshMs = FRESH_MS } = this.#options;
    if (before && performance.now() - before.atMs < freshMs) return before.progress;
    const progress = this.#readNow(stream);
    this.#reads.set(stream, { progress, atMs: performance.now() });
    return progress;
  }

  async #readNow(stream: string): Promise<StreamProgress | undefined> {
    const { connection, places } = this.#options;
    try {
      // Without a known commit the whole stream counts as unread: a lane that can't begin is seen too.
      const lane = await places.of(stream).catch(() => undefined);
      const progress = await readStreamProgress(connection, stream, lane);
      this.#known.set(stream, progress);
      return progress;
    } catch {
      // The broker's absence has a line of its own; what was read before is still true.
      return undefined;
    }
  }
}
