import type { Msg } from "@nats-io/transport-node";
import { pause, retry } from "@reprise/async";
import {
  type GenerationRef,
  generationsStream,
  isFillerSubject,
  parseLogSubject,
  type StreamSeq,
  type UnixMs,
} from "@reprise/protocol";
import {
  type Broker,
  consumerCall,
  inboxOf,
  watchConnection,
  type DeliveryInfo,
  readAckSubject,
} from "@reprise/broker";
import { ShardAcks } from "./acks.ts";
import { readBackfill } from "./backfill.ts";
import {
  BEGINNING,
  type FollowerEffect,
  type FollowerInput,
  type FollowerState,
  next,
} from "./follower-phases.ts";
import { ShardPulls } from "./pulls.ts";
import { type ConsumerStart, GROUP, openShardConsumer, type ShardConsumerState } from "./state.ts";

/** An event of a shard's logs, and whose it is. */
export interface ShardEvent {
  readonly ref: GenerationRef;
  /** A copy of its own. */
  readonly payload: Uint8Array;
  readonly streamSeq: StreamSeq;
  /** When the broker stored it, by the broker's clock: milliseconds since 1970, with a fraction. */
  readonly storedAtMs: UnixMs;
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
  onGap?: (firstStreamSeq: StreamSeq, lastStreamSeq: StreamSeq) => void;
  /** Called with what `onEvents` and `onGap` throw, and what the broker answers that it should not. */
  onError: (error: unknown) => void;
}

export interface ShardFollower {
  /** Acknowledges all events up to this one: the next follower begins after it. Never moves backwards. */
  ack(streamSeq: StreamSeq): void;
  /** No event comes after this. Acknowledging is still possible. */
  stop(): Promise<void>;
  /** Stops, waits up to 2 s until the broker has heard the last acknowledgement, and lets another follower take over at once. */
  close(): Promise<void>;
}

const DOWN_PAUSE_MS = 20;
const RETRY_MS = 500;
const UNPIN_MS = 2_000;

/**
 * Follows all logs of a shard from the place where the followers of this name were, across restarts of followers and broker. No event is missed, but
 * the follower that takes over sees unacknowledged events again, within about four seconds of a follower's death.
 *
 * All followers share a durable consumer of the shard's stream: it records which follower is fed, how far it has handed out, and what is
 * acknowledged. It continues after the events that it has handed out to a follower that died, since a redelivery would come out of order, and after
 * 30 s. So a follower knows the place that it has reached, and reads from the stream itself the events between that place and the next event that it
 * is handed, or, after a takeover, between the last acknowledgement and that. It drops events that it has passed on already. `follower-phases.ts` has
 * the table of its phases.
 *
 * A broker that is away is reported to `onError` as `broker_unavailable` every few seconds; the follower continues when it is back.
 */
export async function followShard(options: ShardFollowerOptions): Promise<ShardFollower> {
  const { broker, shard, name, startTime, onError } = options;
  await openShardConsumer(broker.main, generationsStream(shard), name, () => startOf(startTime)).catch(
    onError,
  );
  return new Follower(options);
}

/** Undefined for what has a place in the stream and is not an event of a log. */
type Found = ShardEvent | undefined;

class Follower implements ShardFollower {
  readonly #options: ShardFollowerOptions;
  readonly #stream: string;
  readonly #pulls: ShardPulls;
  readonly #acks: ShardAcks;
  /** Aborted when the follower is stopped, or its connection is closed for good. */
  readonly #ended = new AbortController();
  #state: FollowerState<Found> = BEGINNING;
  /** While it is down, the client drops requests silently. */
  #canRead = true;
  #isRepeatDue = false;
  #passed: ShardEvent[] = [];

  constructor(options: ShardFollowerOptions) {
    const { broker, shard, name, onError } = options;
    this.#options = options;
    this.#stream = generationsStream(shard);
    this.#acks = new ShardAcks(broker.main, this.#stream, name);
    const onUncertain = () => this.#take({ kind: "uncertain" });
    this.#pulls = new ShardPulls({
      connection: broker.main,
      stream: this.#stream,
      consumer: name,
      onMessage: (msg) => this.#receive(msg),
      onUncertain,
      onError,
    });
    watchConnection(broker.reads, {
      onDown: () => (this.#canRead = false),
      onUp: () => (this.#canRead = true),
    });
    void broker.main.closed().then(() => this.#ended.abort());
    onUncertain();
  }

  ack(streamSeq: StreamSeq): void {
    this.#take({ kind: "ack", streamSeq });
  }

  async stop(): Promise<void> {
    this.#take({ kind: "stop" });
    this.#ended.abort();
    this.#pulls.stop();
  }

  async close(): Promise<void> {
    const { main } = this.#options.broker;
    await this.stop();
    const { acknowledged } = this.#state;
    if (acknowledged > 0 && !(await this.#acks.flush(acknowledged))) return;
    if (this.#pulls.pinId === undefined) return;
    // Without an answer, the follower that takes over waits a little longer, and sees again what was acknowledged last.
    const unpin = consumerCall("UNPIN", this.#stream, this.#options.name);
    await inboxOf(main).ask(unpin, JSON.stringify({ group: GROUP }), UNPIN_MS);
  }

  #receive(msg: Msg): void {
    const { streamSeq, deliverySeq, storedAtMs } = readAckSubject(msg.reply ?? "");
    const event = this.#toEvent(msg.subject, msg.data, { streamSeq, storedAtMs });
    this.#take({ kind: "delivered", delivery: { streamSeq, deliverySeq, event } });
  }

  #take(input: FollowerInput<Found>): void {
    const { phase } = this.#state;
    const { state, effects } = next(this.#state, input);
    this.#state = state;
    if (state.phase !== phase) this.#pulls.isPaused = state.phase !== "live";
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: FollowerEffect<Found>): void {
    switch (effect.kind) {
      case "pass":
        if (effect.delivered) this.#acks.add(effect.delivered);
        if (effect.event && this.#passed.push(effect.event) === 1) queueMicrotask(() => this.#flush());
        break;
      case "gap":
        this.#flush();
        this.#tell(() => this.#options.onGap?.(effect.first, effect.last));
        break;
      case "ask":
        void this.#ask();
        break;
      case "read":
        void this.#read(effect);
        break;
      case "acknowledge":
        this.#acks.acknowledge(effect.upTo);
        break;
      case "repeat_ack":
        this.#repeatAckSoon();
        break;
      case "recount":
        this.#acks.recount(effect.from);
        break;
      case "give_back":
        this.#acks.giveBack(effect.position);
        break;
    }
  }

  #flush(): void {
    const events = this.#passed;
    this.#passed = [];
    if (events.length > 0) this.#tell(() => this.#options.onEvents(events));
  }

  #tell(call: () => void): void {
    if (this.#state.phase === "stopped") return;
    try {
      call();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Once, however many events of one tick were handed out again. */
  #repeatAckSoon(): void {
    if (this.#isRepeatDue) return;
    this.#isRepeatDue = true;
    queueMicrotask(() => {
      this.#isRepeatDue = false;
      this.#acks.acknowledge(this.#state.acknowledged);
    });
  }

  async #ask(): Promise<void> {
    const consumer = await retry(() => this.#readConsumer(), {
      pauseMs: RETRY_MS,
      signal: this.#ended.signal,
    });
    if (consumer) this.#take({ kind: "answered", consumer, ownPinId: this.#pulls.pinId });
  }

  async #readConsumer(): Promise<ShardConsumerState | undefined> {
    const { broker, name, startTime, onError } = this.#options;
    const start = () => {
      const { acknowledged } = this.#state;
      return acknowledged > 0 ? { afterStreamSeq: acknowledged } : startOf(startTime);
    };
    try {
      return await openShardConsumer(broker.main, this.#stream, name, start);
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  async #read(range: { afterStreamSeq: StreamSeq; upToStreamSeq: StreamSeq }): Promise<void> {
    const isFilled = this.#canRead ? await this.#backfill(range) : await this.#pause(DOWN_PAUSE_MS);
    if (!this.#ended.signal.aborted) this.#take({ kind: isFilled ? "filled" : "not_filled" });
  }

  async #backfill(range: { afterStreamSeq: StreamSeq; upToStreamSeq: StreamSeq }): Promise<boolean> {
    const { broker, shard, onError } = this.#options;
    try {
      await readBackfill({
        broker,
        shard,
        ...range,
        signal: this.#ended.signal,
        onMessage: ({ subject, data, streamSeq, storedAtMs }) =>
          this.#take({
            kind: "stored",
            streamSeq,
            event: this.#toEvent(subject, data, { streamSeq, storedAtMs }),
          }),
      });
      return true;
    } catch (error) {
      onError(error);
      return this.#pause(RETRY_MS);
    }
  }

  async #pause(ms: number): Promise<false> {
    await pause(ms, this.#ended.signal);
    return false;
  }

  #toEvent(
    subject: string,
    data: Uint8Array,
    { streamSeq, storedAtMs }: Pick<DeliveryInfo, "streamSeq" | "storedAtMs">,
  ): Found {
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
