/** Bytes of a request's line and headers. */
export const MAX_HEADER_BYTES = 16 * 1_024;
/** Milliseconds that a request may take to arrive, and that a connection may be idle, as in PROTOCOL.md. */
export const ARRIVAL_MS = 60_000;
/** Milliseconds between two checks of the connections, at most. */
const MAX_SWEEP_MS = 1_000;

/** Bounds that Node's server takes when it is created. */
export function headerBounds(arrivalMs: number) {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node's own refusal has no body.
    requireHostHeader: false,
    headersTimeout: arrivalMs,
    connectionsCheckingInterval: Math.min(MAX_SWEEP_MS, arrivalMs),
  };
}
