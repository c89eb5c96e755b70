import type { NatsConnection } from "@nats-io/transport-node";
import { waitAtMost } from "@reprise/async";
import { publishedHeaders, readAllMessages } from "@reprise/broker";
import {
  KEY_USE_STREAM,
  parseKeyUseSubject,
  keyUseSubject,
  STREAM_START,
  type TenantId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";

const PUBLISHED = publishedHeaders();
const FLUSH_MS = 60_000;
const CLOSE_MS = 1_000;
const BATCH = { afterStreamSeq: STREAM_START, maxMessages: 256, maxBytes: 262_144 };

/**
 * When each API key was used last: noted in memory, and stored once a minute and when it is closed. Without an acknowledgement: a time
 * that is lost is followed by the next, and no request waits for it.
 */
export class KeyUse implements AsyncDisposable {
  readonly #connection: NatsConnection;
  readonly #now: () => UnixMs;
  readonly #timer: NodeJS.Timeout;
  /** Since the last flush. */
  readonly #used = new Map<TenantId, Map<string, UnixMs>>();

  constructor(connection: NatsConnection, { flushMs = FLUSH_MS, now = unixNow } = {}) {
    this.#connection = connection;
    this.#now = now;
    this.#timer = setInterval(() => this.flush(), flushMs).unref();
  }

  note(tenant: TenantId, key: string): void {
    let keys = this.#used.get(tenant);
    if (!keys) this.#used.set(tenant, (keys = new Map()));
    keys.set(key, this.#now());
  }

  flush(): void {
    // What is published without a connection is dropped.
    if (this.#connection.isClosed()) return;
    for (const [tenant, keys] of this.#used)
      for (const [key, atMs] of keys)
        this.#connection.publish(keyUseSubject(tenant, key), new Date(atMs).toISOString(), {
          headers: PUBLISHED,
        });
    this.#used.clear();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.flush();
    // A broker that is away takes nothing.
    if (!this.#connection.isClosed()) await waitAtMost(CLOSE_MS, this.#connection.flush()).catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * When the tenant's keys were used last, by their ids.
 * @throws RepriseError `broker_unavailable`
 */
export async function readKeyUse(
  connection: NatsConnection,
  tenant: TenantId,
): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>();
  const request = { ...BATCH, subject: keyUseSubject(tenant) };
  for await (const { subject, payload } of readAllMessages(connection, KEY_USE_STREAM, request))
    used.set(parseKeyUseSubject(subject), new TextDecoder().decode(payload));
  return used;
}
