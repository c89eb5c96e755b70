import { pathSegment } from "../http/path-segment.ts";
import type { Exchange, HttpRequest } from "../http/http.ts";
import type { Transport } from "../http/transport.ts";

export function pathOf(id: string): string {
  return `/v1/blobs/${pathSegment(id)}`;
}

/** One exchange that is closed whatever comes of it. */
export async function withExchange<T>(
  transport: Transport,
  request: HttpRequest,
  signal: AbortSignal,
  use: (exchange: Exchange) => Promise<T>,
): Promise<T> {
  const exchange = await transport.exchange(request, signal);
  try {
    return await use(exchange);
  } finally {
    exchange.close();
  }
}
