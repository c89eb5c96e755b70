import { type ClientOptions, createClient } from "@reprise/client";
import { Gate, type Reader, type ReaderEnd, type ReaderRecord, toEnd } from "./reader-record.ts";

export interface SdkReaderOptions {
  readonly urls: readonly string[];
  /** Where in `urls` it begins. */
  readonly first: number;
}

/** Follows a generation with the SDK as it comes: its own retries, its own patience, which a fault may use up. */
export function followWithSdk(record: ReaderRecord, { urls, first }: SdkReaderOptions): Reader {
  const { id, tenant } = record.generation;
  const leaving = new AbortController();
  const gate = new Gate();
  const onRequest = (node: number): void => {
    record.node = node;
    record.connections++;
  };
  const fetch = balancedFetch({ urls, first, onRequest });

  async function run(): Promise<ReaderEnd> {
    const client = createClient({ url: BALANCED_URL, apiKey: tenant.key, fetch });
    for await (const event of client.generations.stream(id, { signal: leaving.signal })) {
      record.show(event.seq, JSON.stringify(event));
      await gate.passed();
    }
    return { type: "ended" };
  }

  void run()
    .catch((thrown: unknown) => toEnd(thrown, leaving.signal))
    .then((end) => record.finish(end));
  return {
    record,
    pause: () => gate.close(),
    resume: () => gate.open(),
    leave() {
      leaving.abort();
      gate.open();
    },
  };
}

/** The placeholder of every node's address: see `balancedFetch`. */
export const BALANCED_URL = "http://platform.invalid";

export interface BalancerOptions {
  readonly urls: readonly string[];
  /** Where in `urls` the first request goes. */
  readonly first: number;
  /** Called with where in `urls` each request goes. */
  readonly onRequest?: (node: number) => void;
}

/** Does what a load balancer does for an SDK: each request goes to the next node, whether or not the last one failed. */
export function balancedFetch(options: BalancerOptions): NonNullable<ClientOptions["fetch"]> {
  const { urls, first, onRequest } = options;
  let requests = 0;
  return (url, init) => {
    const node = (first + requests++) % urls.length;
    onRequest?.(node);
    return fetch(url.replace(BALANCED_URL, urls[node]!), init);
  };
}
