import type { NatsConnection } from "@nats-io/transport-node";
import { DeliverySeqs } from "./deliveries.ts";
import type { ConsumerPosition } from "./state.ts";

const FLUSH_MS = 2_000;

/** What one follower has acknowledged: all up to a place in the stream. An acknowledgement that is lost is sent again. */
export class ShardAcks {
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #numbers = new DeliverySeqs();
  #upTo = 0;
  #isDue = false;

  constructor(connection: NatsConnection, stream: string, consumer: string) {
    this.#connection = connection;
    this.#prefix = `$JS.ACK.${stream}.${consumer}.1`;
  }

  /** The last place that was acknowledged here; 0 for none. */
  get upTo(): number {
    return this.#upTo;
  }

  /** An event was handed out. */
  add(delivered: ConsumerPosition): void {
    this.#numbers.add(delivered);
  }

  /** The consumer's place has changed without this follower, which has seen all up to `last`. */
  restart(acknowledged: ConsumerPosition, last: number): void {
    this.#upTo = Math.min(this.#upTo, last);
    this.#numbers.clear();
    this.#numbers.add(acknowledged);
  }

  acknowledge(streamSeq: number): void {
    if (streamSeq <= this.#upTo) return;
    this.#upTo = streamSeq;
    this.#numbers.forgetBelow(streamSeq);
    this.repeat();
  }

  /** Says again what was acknowledged last. */
  repeat(): void {
    if (this.#upTo > 0) this.#say(this.#subject, "");
  }

  /** Does so once, however often it is asked for in one tick. */
  repeatSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.repeat();
    });
  }

  /** Gives an event back that was handed out, perhaps to another follower, to be handed out again at once. */
  giveBack({ streamSeq, deliverySeq }: ConsumerPosition): void {
    this.#say(`${this.#prefix}.${streamSeq}.${deliverySeq}.0.0`, "-NAK");
  }

  /**
   * Resolves when the broker has heard the last acknowledgement.
   * @throws what the client throws when it has not in 2 s
   */
  async flush(): Promise<void> {
    if (this.#upTo > 0) await this.#connection.request(this.#subject, "", { timeout: FLUSH_MS });
  }

  get #subject(): string {
    return `${this.#prefix}.${this.#upTo}.${this.#numbers.at(this.#upTo)}.0.0`;
  }

  #say(subject: string, word: string): void {
    if (!this.#connection.isClosed() && !this.#connection.isDraining())
      this.#connection.publish(subject, word);
  }
}
