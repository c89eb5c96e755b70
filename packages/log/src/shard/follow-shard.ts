import type { Msg } from "@nats-io/transport-node";
import { type GenerationRef, generationsStream, isFillerSubject, parseLogSubject } from "@reprise/protocol";
import { setTimeout as pause } from "node:timers/promises";
import type { Broker } from "../nats/connection.ts";
import { watchConnection } from "../nats/watch-connection.ts";
import { ShardAcks } from "./acks.ts";
import { type DeliveryInfo, readAckSubject } from "./deliveries.ts";
import { ShardPulls } from "./pulls.ts";
import { type ConsumerStart, GROUP, openShardConsumer, type ShardConsumerState } from "./state.ts";
import { readBackfill } from "./backfill.ts";

/** An event of a shard's logs, and whose it is. */
export interface ShardEvent {
  readonly ref: GenerationRef;
  /** A copy of its own. */
  readonly payload: Uint8Array;
  readonly streamSeq: number;
  /** When the broker stored it, by the broker's clock: milliseconds since 1970, with a fraction. */
  readonly storedAtMs: number;
}

export interface ShardFollowerOptions {
  broker: Broker;
  shard: number;
  /** Followers of one name share the work of one: one of them is fed at a time. */
  name: string;
  /** Where followers of a new name begin: with the first event stored then or later. Default: the oldest event there is. */
  startTime?: Date;
  /** Called inside the connection's read loop, once per tick, with what has come: it has to be short. In stream order. */
  onEvents: (events: readonly ShardEvent[]) => void;
  /**
   * Called with ranges of the stream whose events are gone, expired as a rule, before any follower was handed them: in order with the
   * events. What expires after it was handed out counts as acknowledged for the broker.
   */
  onGap?: (firstStreamSeq: number, lastStreamSeq: number) => void;
  /** Called with what `onEvents` and `onGap` throw, and what the broker answers that it should not. */
  onError: (error: unknown) => void;
}

export interface ShardFollower {
  /** All events up to this one are dealt with: the next follower begins behind it. Never goes back. */
  ack(streamSeq: number): void;
  /** No event comes after this. Acknowledging is still possible. */
  stop(): Promise<void>;
  /** Stops, waits up to 2 s until the broker has heard the last acknowledgement, and lets another follower take over at once. */
  close(): Promise<void>;
}

const DOWN_PAUSE_MS = 20;
const RETRY_MS = 500;
const UNPIN_MS = 2_000;

/**
 * Follows all logs of a shard from where the followers of this name were, however often they or the broker are restarted: nothing is
 * missed, but what was not acknowledged is seen again by the follower that takes over, within about four seconds of a follower's death.
 *
 * A durable consumer of the shard's stream is what all followers share: it holds which follower is fed, how far it has handed out and what is
 * acknowledged. It goes on behind what it has handed out to a follower that died, since waiting for that would deliver it out of order,
 * and after 30 s. So a follower knows the place that it has reached, and reads from the stream itself what lies between that and the
 * next event that it is handed, or, after a takeover, between the last acknowledgement and that. What it has passed on already
 * it drops.
 *
 * A broker that is away is reported to `onError` as `broker_unavailable` every few seconds; the follower goes on when it is back.
 */
export async function followShard(options: ShardFollowerOptions): Promise<ShardFollower> {
  const { broker, shard, name, startTime, onError } = options;
  await openShardConsumer(broker.main, generationsStream(shard), name, () => startOf(startTime)).catch(
    onError,
  );
  return new Follower(options);
}

interface Incoming extends DeliveryInfo {
  /** Undefined for what is not an event of a log. */
  readonly event: ShardEvent | undefined;
}

class Follower implements ShardFollower {
  readonly #options: ShardFollowerOptions;
  readonly #stream: string;
  readonly #pulls: ShardPulls;
  readonly #acks: ShardAcks;
  /** All events up to here were passed on, or are dealt with. */
  #last = 0;
  /** Up to here the consumer has handed out to this follower or to those before it, processed or not. */
  #handedOut = 0;
  /** What was handed out while something else has to be known or read first. */
  #held: Incoming[] = [];
  /** Whether the consumer has to be asked where it is. */
  #isUncertain = false;
  #isSettling = false;
  #isStopped = false;
  /** While it is down, the client drops requests silently. */
  #canRead = true;
  #passed: ShardEvent[] = [];

  constructor(options: ShardFollowerOptions) {
    const { broker, shard, name, onError } = options;
    this.#options = options;
    this.#stream = generationsStream(shard);
    this.#acks = new ShardAcks(broker.main, this.#stream, name);
    const onUncertain = () => {
      this.#isUncertain = true;
      void this.#settle();
    };
    this.#pulls = new ShardPulls({
      connection: broker.main,
      stream: this.#stream,
      consumer: name,
      onMessage: (msg) => this.#receive(msg),
      onPinned: onUncertain,
      onBroken: onUncertain,
      onIdle: onUncertain,
      onError,
    });
    watchConnection(broker.reads, {
      onDown: () => (this.#canRead = false),
      onUp: () => (this.#canRead = true),
    });
    onUncertain();
  }

  ack(streamSeq: number): void {
    this.#acks.acknowledge(Math.min(streamSeq, this.#last));
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#pulls.stop();
  }

  async close(): Promise<void> {
    const { main } = this.#options.broker;
    await this.stop();
    if (main.isClosed()) return;
    try {
      await this.#acks.flush();
      if (this.#pulls.pinId === undefined) return;
      const unpin = `$JS.API.CONSUMER.UNPIN.${this.#stream}.${this.#options.name}`;
      await main.request(unpin, JSON.stringify({ group: GROUP }), { timeout: UNPIN_MS });
    } catch {
      // The follower that takes over waits a little longer, and sees again what was acknowledged last.
    }
  }

  #receive(msg: Msg): void {
    const delivery = readAckSubject(msg.reply ?? "");
    const incoming = { ...delivery, event: this.#toEvent(msg.subject, msg.data, delivery) };
    if (this.#isSettling) this.#held.push(incoming);
    else if (incoming.streamSeq > this.#last + 1) {
      this.#held.push(incoming);
      void this.#settle();
    } else this.#pass(incoming);
  }

  #pass({ streamSeq, deliverySeq, event }: Incoming): void {
    // Handed out for the second time: what was acknowledged was not heard.
    if (streamSeq <= this.#acks.upTo) this.#acks.repeatSoon();
    if (streamSeq <= this.#last) return;
    this.#acks.add({ streamSeq, deliverySeq });
    this.#passOn(streamSeq, event);
  }

  #passOn(streamSeq: number, event: ShardEvent | undefined): void {
    this.#passOver(streamSeq - 1);
    this.#last = streamSeq;
    if (event && this.#passed.push(event) === 1) queueMicrotask(() => this.#flush());
  }

  /** Nothing is there any more up to this place. */
  #passOver(streamSeq: number): void {
    if (streamSeq <= this.#last) return;
    const first = this.#last + 1;
    this.#last = streamSeq;
    this.#flush();
    this.#tell(() => this.#options.onGap?.(first, streamSeq));
  }

  #flush(): void {
    const events = this.#passed;
    this.#passed = [];
    if (events.length > 0) this.#tell(() => this.#options.onEvents(events));
  }

  #tell(call: () => void): void {
    if (this.#isStopped) return;
    try {
      call();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Finds out what is uncertain and reads what is missing, until what is handed out can be passed on as it comes. */
  async #settle(): Promise<void> {
    if (this.#isSettling) return;
    this.#isSettling = true;
    this.#pulls.isPaused = true;
    while (!this.#isStopped && !this.#options.broker.main.isClosed()) {
      try {
        if (this.#isUncertain) await this.#ask();
        this.#passHeld();
        const missing = this.#held[0] ? this.#held[0].streamSeq - 1 : this.#handedOut;
        if (this.#isUncertain) continue;
        if (missing <= this.#last) break;
        if (this.#canRead) await this.#readUpTo(missing);
        else await pause(DOWN_PAUSE_MS);
      } catch (error) {
        this.#options.onError(error);
        await pause(RETRY_MS);
      }
    }
    this.#isSettling = false;
    this.#pulls.isPaused = false;
  }

  #passHeld(): void {
    let count = 0;
    for (; count < this.#held.length; count++) {
      const incoming = this.#held[count]!;
      if (incoming.streamSeq > this.#last + 1) break;
      this.#pass(incoming);
    }
    this.#held.splice(0, count);
  }

  async #ask(): Promise<void> {
    const { broker, name, startTime } = this.#options;
    const start = () => (this.#acks.upTo > 0 ? { afterStreamSeq: this.#acks.upTo } : startOf(startTime));
    this.#isUncertain = false;
    try {
      const state = await openShardConsumer(broker.main, this.#stream, name, start);
      this.#learn(state);
    } catch (error) {
      this.#isUncertain = true;
      throw error;
    }
  }

  #learn({ delivered, acknowledged, unacknowledged, pending, pinId }: ShardConsumerState): void {
    const known = this.#last;
    // The stream ends before what was seen here: it has lost events, and what comes is taken as new.
    if (delivered.streamSeq + pending < known) this.#last = acknowledged.streamSeq;
    // What other followers have acknowledged is dealt with.
    this.#last = Math.max(this.#last, acknowledged.streamSeq);
    // A consumer that has handed out less than was seen here has been set back, and counts its deliveries anew.
    if (delivered.streamSeq < known || this.#last !== known) this.#acks.restart(acknowledged, this.#last);
    const isFed = pinId !== undefined && pinId === this.#pulls.pinId;
    this.#handedOut = isFed ? delivered.streamSeq : 0;
    // A follower has died with events that the consumer redelivers only after its ack wait. Handing back the first of them makes the
    // broker choose the follower that is fed next.
    if (pinId === undefined && unacknowledged > 0) {
      this.#acks.giveBack({
        streamSeq: acknowledged.streamSeq + 1,
        deliverySeq: acknowledged.deliverySeq + 1,
      });
    } else if (this.#acks.upTo > acknowledged.streamSeq) this.#acks.repeat();
  }

  /** Passes on what lies in the stream up to there. */
  async #readUpTo(missing: number): Promise<void> {
    await readBackfill({
      ...this.#options,
      afterStreamSeq: this.#last,
      upToStreamSeq: missing,
      isStopped: () => this.#isStopped,
      onMessage: ({ subject, data, ...place }) =>
        this.#passOn(place.streamSeq, this.#toEvent(subject, data, place)),
    });
    if (!this.#isStopped) this.#passOver(missing);
  }

  #toEvent(
    subject: string,
    data: Uint8Array,
    { streamSeq, storedAtMs }: Pick<DeliveryInfo, "streamSeq" | "storedAtMs">,
  ): ShardEvent | undefined {
    try {
      return { ref: parseLogSubject(subject), payload: Uint8Array.from(data), streamSeq, storedAtMs };
    } catch (error) {
      // What an erasure makes files full with has a place in the stream and is of no log.
      if (!isFillerSubject(subject)) this.#options.onError(error);
      return undefined;
    }
  }
}

function startOf(time: Date | undefined): ConsumerStart {
  return time ? { time } : "beginning";
}
