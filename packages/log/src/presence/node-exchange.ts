import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type NodeId, nodeSubject, NODE_SUBJECTS } from "@reprise/protocol";
import { subscribeGuarded } from "../nats/subscribe-guarded.ts";

/** How busy a node of delivery is. */
export interface NodeLoad {
  readonly readers: number;
  /** Cores that its process uses. */
  readonly cpu: number;
}

export interface NodeExchangeOptions {
  connection: NatsConnection;
  node: NodeId;
  /** Asked for every 3 s. */
  load: () => NodeLoad;
  onError: (error: unknown) => void;
}

interface HeardNode extends NodeLoad {
  readonly heardAtMs: number;
}

const REPEAT_MS = 3_000;
/** A node that has not been heard for so long is gone. */
const GONE_MS = 7_000;
/** Announcements of further nodes are ignored. */
const MAX_NODES = 10_000;

/** The nodes of delivery tell each other how busy they are, so that each of them can say it of all. A message that is lost costs seconds. */
export class NodeExchange {
  readonly #options: NodeExchangeOptions;
  readonly #subscription: Subscription;
  readonly #others = new Map<string, HeardNode>();
  readonly #timer: NodeJS.Timeout;
  #own: NodeLoad;

  constructor(options: NodeExchangeOptions) {
    const { connection, onError } = options;
    this.#options = options;
    this.#own = options.load();
    const onMessage = (msg: Msg) => this.#receive(msg, performance.now());
    this.#subscription = subscribeGuarded(connection, NODE_SUBJECTS, { onMessage, onError });
    this.#timer = setInterval(() => this.#tell(), REPEAT_MS).unref();
    this.#publish(this.#own);
  }

  /** All nodes together, this one included. */
  read(): NodeLoad & { readonly nodes: number } {
    const nowMs = performance.now();
    for (const [node, { heardAtMs }] of this.#others)
      if (nowMs - heardAtMs > GONE_MS) this.#others.delete(node);
    let [nodes, readers, cpu] = [1, this.#own.readers, this.#own.cpu];
    for (const other of this.#others.values()) {
      nodes++;
      readers += other.readers;
      cpu += other.cpu;
    }
    return { nodes, readers, cpu };
  }

  /** The others hear that this node is gone. */
  stop(): void {
    clearInterval(this.#timer);
    const { connection } = this.#options;
    if (connection.isClosed() || connection.isDraining()) return;
    this.#subscription.unsubscribe();
    this.#publish(undefined);
  }

  #tell(): void {
    this.#own = this.#options.load();
    this.#publish(this.#own);
  }

  #publish(load: NodeLoad | undefined): void {
    const { connection, node } = this.#options;
    if (connection.isClosed() || connection.isDraining()) return;
    connection.publish(nodeSubject(node), load ? JSON.stringify(load) : "");
  }

  #receive(msg: Msg, nowMs: number): void {
    const { subject } = msg;
    if (subject === nodeSubject(this.#options.node)) return;
    const load = parseLoad(msg.string());
    if (!load) this.#others.delete(subject);
    else if (this.#others.has(subject) || this.#others.size < MAX_NODES)
      this.#others.set(subject, { ...load, heardAtMs: nowMs });
  }
}

/** Undefined for a node that leaves, and for what no node says. */
function parseLoad(text: string): NodeLoad | undefined {
  try {
    const { readers, cpu } = JSON.parse(text) as Partial<NodeLoad>;
    return isAmount(readers) && isAmount(cpu) ? { readers, cpu } : undefined;
  } catch {
    return undefined;
  }
}

const MAX_AMOUNT = 10_000_000;

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= MAX_AMOUNT;
}
