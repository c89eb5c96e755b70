import { JETSTREAM_ERROR } from "./error-codes.ts";
import type { ReplyInbox } from "./reply-inbox.ts";

const TIMEOUT_MS = 2_000;

interface InfoAnswer {
  error?: { err_code?: number };
}

/**
 * Whether the broker says that there is no such stream. A direct get has no responders then, as it has none during an
 * election; false also when the broker does not answer within 2 s.
 */
export function isStreamAbsent(inbox: ReplyInbox, stream: string): Promise<boolean> {
  return new Promise((resolve) => {
    inbox.request(`$JS.API.STREAM.INFO.${stream}`, "", {
      timeoutMs: TIMEOUT_MS,
      handler: (reply) => {
        resolve(
          typeof reply !== "string" &&
            reply.json<InfoAnswer>().error?.err_code === JETSTREAM_ERROR.streamNotFound,
        );
        return false;
      },
    });
  });
}
