const BASE_MS = 250;
const MOST_MS = 8_000;

/**
 * How long to wait before the next connection (PROTOCOL.md §8.3.1): what the server last said, plus a random part of a delay
 * that doubles with every failure in a row.
 */
export function backoffMs(failures: number, serverSaidMs: number, random: () => number): number {
  return serverSaidMs + random() * Math.min(MOST_MS, BASE_MS * 2 ** (failures - 1));
}
