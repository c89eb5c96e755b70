import { RepriseError } from "@reprise/protocol";
import { toFrameNumber } from "../frame-number.ts";

/**
 * Number of frames that a client has, from `starting_after`, the `sequence_number` of its last event: numbers begin with 0. Returns 0 for a client that has
 * none, and asks for all of them.
 * @throws RepriseError `cursor_invalid`
 */
export function parseStartingAfter(value: string | undefined): number {
  if (value === undefined) return 0;
  const number = toFrameNumber(value);
  if (number !== undefined) return number + 1;
  const param = "starting_after";
  throw new RepriseError("cursor_invalid", `${param}: must be the sequence_number of an event`, { param });
}
