import { RepriseError } from "@reprise/protocol";
import { toFrameNumber } from "../frame-number.ts";

/** The `id` of a frame's SSE message: how many frames came before it. No client of OpenAI's reads it. */
export function toChatPosition(frame: number): string {
  return `${frame}`;
}

/**
 * Number of frames that a client has, from the `id` of the last one in `Last-Event-ID`; 0 without one.
 * @throws RepriseError `cursor_invalid`
 */
export function parseChatPosition(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === "") return 0;
  const number = toFrameNumber(lastEventId);
  if (number !== undefined) return number + 1;
  throw new RepriseError("cursor_invalid", "Last-Event-ID: must be the number of a frame", {
    param: "Last-Event-ID",
  });
}
