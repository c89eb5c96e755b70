import type { ClientOptions } from "@reprise/client";

/** Stands in for every node's address: see `balancedFetch`. */
export const BALANCED_URL = "http://platform.invalid";

export interface BalancerOptions {
  readonly urls: readonly string[];
  /** Where in `urls` the first request goes. */
  readonly first: number;
  /** Called with where in `urls` each request goes. */
  readonly onRequest?: (node: number) => void;
}

/** What a load balancer does for an SDK: each request goes to the next node, whether or not the last one failed. */
export function balancedFetch(options: BalancerOptions): NonNullable<ClientOptions["fetch"]> {
  const { urls, first, onRequest } = options;
  let requests = 0;
  return (url, init) => {
    const node = (first + requests++) % urls.length;
    onRequest?.(node);
    return fetch(url.replace(BALANCED_URL, urls[node]!), init);
  };
}
