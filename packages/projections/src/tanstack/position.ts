import { RepriseError } from "@reprise/protocol";
import { toFrameNumber } from "../frame-number.ts";

/** Where `joinRun` begins. */
const START = "-1";

/**
 * The first frame after those that a client has: `Last-Event-ID`, or `offset` of the query. The SSE `id` of a frame is its number.
 * @throws RepriseError `cursor_invalid`
 */
export function parseOffset(offset: string, param: "Last-Event-ID" | "offset"): number {
  if (offset === START) return 0;
  const number = toFrameNumber(offset);
  if (number !== undefined) return number + 1;
  throw new RepriseError("cursor_invalid", `${param}: is no id of an event of this run, nor ${START}.`, {
    param,
  });
}
