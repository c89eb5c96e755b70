import type { Frame } from "@reprise/projections";

/** One frame as it is sent: `id:` and `event:` lines where there are any, one `data:` line, a blank line. */
export function encodeFrame({ event, data }: Frame, id?: number): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  const eventLine = event === undefined ? "" : `event: ${event}\n`;
  return `${idLine}${eventLine}data: ${data}\n\n`;
}
