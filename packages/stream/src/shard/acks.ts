import type { StreamSeq } from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import { inboxOf } from "@reprise/broker";
import { DeliverySeqs } from "./deliveries.ts";
import type { ConsumerPosition } from "./state.ts";

const FLUSH_MS = 2_000;

/** Acknowledges what one follower has dealt with: all up to a place in the stream. An acknowledgement may be lost. */
export class ShardAcks {
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #numbers = new DeliverySeqs();

  constructor(connection: NatsConnection, stream: string, consumer: string) {
    this.#connection = connection;
    this.#prefix = `$JS.ACK.${stream}.${consumer}.1`;
  }

  /** An event was handed out. */
  add(delivered: ConsumerPosition): void {
    this.#numbers.add(delivered);
  }

  /** The consumer restarts its count of deliveries from here. */
  recount(from: ConsumerPosition): void {
    this.#numbers.clear();
    this.#numbers.add(from);
  }

  acknowledge(upTo: StreamSeq): void {
    this.#numbers.forgetBelow(upTo);
    this.#publish(this.#subject(upTo), "");
  }

  /** Gives an event back that was handed out, perhaps to another follower, to be handed out again at once. */
  giveBack({ streamSeq, deliverySeq }: ConsumerPosition): void {
    this.#publish(`${this.#prefix}.${streamSeq}.${deliverySeq}.0.0`, "-NAK");
  }

  /** Acknowledges once more. Returns whether the broker has heard it, within 2 s. */
  async flush(upTo: StreamSeq): Promise<boolean> {
    return typeof (await inboxOf(this.#connection).ask(this.#subject(upTo), "", FLUSH_MS)) !== "string";
  }

  #subject(upTo: StreamSeq): string {
    return `${this.#prefix}.${upTo}.${this.#numbers.at(upTo)}.0.0`;
  }

  #publish(subject: string, word: string): void {
    if (!this.#connection.isClosed() && !this.#connection.isDraining())
      this.#connection.publish(subject, word);
  }
}
