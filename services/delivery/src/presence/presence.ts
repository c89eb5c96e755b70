import {
  type Publish,
  publishPresence,
  PRESENCE_LEASE_MS,
  type PresenceRecord,
  type GenerationCache,
} from "@reprise/log";
import { type EffectivePolicy, type GenerationRef, logSubject, type NodeId } from "@reprise/protocol";
import { MIN_INTERVAL_MS, isAnnouncementDue, type AnnouncementState } from "./announcement.ts";

export interface PresenceOptions {
  publish: Publish;
  /** No other process has this name, a later start of this one neither. */
  node: NodeId;
  /** For how long a presence record counts. Default `PRESENCE_LEASE_MS`; all nodes have to agree. */
  leaseMs?: number | undefined;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
  onError: (error: unknown) => void;
}

/** How far a reader's connection has come. */
type Position = () => number;

/** This node's readers of one generation. */
interface Audience {
  readonly ref: GenerationRef;
  readonly isPaced: boolean;
  readonly positions: Set<Position>;
  cache: GenerationCache;
  said: AnnouncementState["said"];
  triedAtMs: number;
  visited: boolean;
  leftAtMs: number;
  seq: number;
  sending: Promise<void> | undefined;
}

/**
 * Announces this node's readers in `READERS`, for the generations whose policy depends on them: those that end without readers, and
 * those that wait for their readers. All others cost nothing. What a reader's connection has taken is asked for ten times a
 * second at most, not told with every event.
 *
 * An announcement that did not reach the broker is sent again, the newest one only. One is in flight per generation, so they are
 * stored in order.
 */
export class Presence {
  readonly #options: Required<Omit<PresenceOptions, "leaseMs">> & { leaseMs: number };
  readonly #audiences = new Map<string, Audience>();
  #timer: NodeJS.Timeout | undefined;
  #drained = false;

  constructor({ leaseMs = PRESENCE_LEASE_MS, now = () => performance.now(), ...options }: PresenceOptions) {
    this.#options = { ...options, leaseMs, now };
  }

  /** Takes note of a reader, until what is returned is called. */
  enter(cache: GenerationCache, position: Position): () => void {
    if (cache.ended || this.#drained || !isAsked(cache.policy)) return noop;
    const audience = this.#audienceOf(cache);
    audience.positions.add(position);
    this.#announce(audience);
    return () => this.#leave(audience, position);
  }

  /**
   * To be called before the readers are disconnected. They are on their way to another node, so their leaving is not announced:
   * a last announcement gives them a whole lease to arrive there.
   */
  drain(): void {
    if (this.#drained) return;
    this.#drained = true;
    clearInterval(this.#timer);
    for (const audience of this.#audiences.values()) {
      if (audience.positions.size === 0) continue;
      const last = recordOf(audience);
      const { sending } = audience;
      if (!sending) void this.#send(audience, last);
      // The announcement in flight may be an older one, of no readers, and it may get lost.
      else audience.sending = sending.then(() => this.#send(audience, last));
    }
  }

  /** Waits for the announcements in flight. */
  async close(): Promise<void> {
    this.drain();
    for (const { sending } of this.#audiences.values()) await sending;
  }

  #audienceOf(cache: GenerationCache): Audience {
    const { ref, policy } = cache;
    const key = logSubject(ref);
    const present = this.#audiences.get(key);
    if (present) {
      present.cache = cache;
      return present;
    }
    const audience: Audience = {
      ref,
      cache,
      isPaced: policy?.pace !== undefined,
      positions: new Set(),
      said: undefined,
      triedAtMs: -Infinity,
      visited: false,
      leftAtMs: 0,
      seq: 0,
      sending: undefined,
    };
    this.#audiences.set(key, audience);
    this.#timer ??= setInterval(() => this.#sweep(), MIN_INTERVAL_MS).unref();
    return audience;
  }

  #leave(audience: Audience, position: Position): void {
    const { positions } = audience;
    if (!positions.delete(position) || positions.size > 0 || this.#drained) return;
    audience.visited = true;
    audience.leftAtMs = this.#options.now();
    this.#announce(audience);
  }

  #sweep(): void {
    for (const [key, audience] of this.#audiences) {
      if (this.#isOver(audience)) this.#audiences.delete(key);
      else this.#announce(audience);
    }
    if (this.#audiences.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Whether there are no readers and that is announced, or the last announcement has run out. */
  #isOver({ positions, sending, visited, said, leftAtMs, cache }: Audience): boolean {
    if (positions.size > 0 || sending) return false;
    const { now, leaseMs } = this.#options;
    return cache.ended || (!visited && said?.readers === 0) || now() - leftAtMs > leaseMs;
  }

  #announce(audience: Audience): void {
    const { said, triedAtMs, visited, isPaced, positions, sending, cache } = audience;
    if (sending || (cache.ended && positions.size === 0)) return;
    const { leaseMs, now } = this.#options;
    const place = isPaced && positions.size > 0 ? recordOf(audience) : undefined;
    const wording = { said, triedAtMs, visited, place, readers: positions.size };
    if (isAnnouncementDue(wording, { nowMs: now(), leaseMs })) void this.#send(audience);
  }

  #send(audience: Audience, record = recordOf(audience)): Promise<void> {
    const { publish, node, now, onError } = this.#options;
    const { ref } = audience;
    audience.seq = record.seq;
    const atMs = now();
    audience.triedAtMs = atMs;
    audience.visited = false;
    audience.said = undefined;
    const sending = publishPresence(publish, { ref, node }, record)
      .then((stored) => void (stored && (audience.said = { ...record, atMs })), onError)
      .finally(() => void (audience.sending === sending && (audience.sending = undefined)));
    audience.sending = sending;
    return sending;
  }
}

function isAsked(policy: EffectivePolicy | undefined): boolean {
  return policy !== undefined && (policy.on_disconnect !== "keep" || policy.pace !== undefined);
}

/** The furthest position stays in the record when the last reader has left. */
function recordOf({ positions, seq, isPaced, cache }: Audience): PresenceRecord {
  const record = { readers: positions.size, seq: positions.size > 0 ? furthest(positions) : seq };
  const { shownSeq, lastSeq } = cache;
  if (!isPaced || shownSeq >= lastSeq) return record;
  return { ...record, held: { fromSeq: shownSeq + 1, toSeq: lastSeq } };
}

function furthest(positions: ReadonlySet<Position>): number {
  let seq = 0;
  for (const position of positions) seq = Math.max(seq, position());
  return seq;
}

const noop = () => {};
