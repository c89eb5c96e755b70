import type { ClientOptions } from "@reprise/client";

/** Stands in for every node's address: see `balancedFetch`. */
export const BALANCED_URL = "http://platform.invalid";

/** What a load balancer does for an SDK: each request goes to the next node, the one that failed the last time or not. */
export function balancedFetch(urls: readonly string[], first = 0): NonNullable<ClientOptions["fetch"]> {
  let next = first;
  return (url, init) => fetch(url.replace(BALANCED_URL, urls[next++ % urls.length]!), init);
}
