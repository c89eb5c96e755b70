import { type GenerationRef, logSubject, RepriseError, streamOf } from "@reprise/protocol";
import { decodeBase64 } from "../nats/decode-base64.ts";
import { HEADER } from "../nats/header.ts";
import type { StoredEvent } from "./stored-event.ts";
import type { ReplyInbox } from "../nats/reply-inbox.ts";
import { isNoMessage, JETSTREAM_ERROR } from "../nats/error-codes.ts";

/**
 * Reads from the stream's leader, so it sees every write that was acknowledged before. It costs a request per event and
 * fails during an election: for settling unclear outcomes, never for catching up.
 */
export interface LeaderReader {
  /**
   * What is stored after a stream sequence, oldest first, all of it or so many events.
   * @throws RepriseError `broker_unavailable` when the leader does not answer within 2 s
   */
  readTail(ref: GenerationRef, afterStreamSeq: number, most?: number): Promise<StoredEvent[]>;
  /**
   * The last event, or undefined for a log that has none.
   * @throws RepriseError `broker_unavailable` when the leader does not answer within 2 s
   */
  readLast(ref: GenerationRef): Promise<StoredEvent | undefined>;
}

interface GetAnswer {
  message?: { seq: number; data?: string; hdrs?: string };
  error?: { code: number; err_code?: number; description?: string };
}

const TIMEOUT_MS = 2_000;

/** A generation id names its shard, and a client may make one up: in a stream that does not exist every log is empty. */
function isNothingThere(errCode: number | undefined): boolean {
  return isNoMessage(errCode) || errCode === JETSTREAM_ERROR.streamNotFound;
}

export function createLeaderReader(inbox: ReplyInbox): LeaderReader {
  function get({ generation }: GenerationRef, request: object): Promise<StoredEvent | undefined> {
    return new Promise((resolve, reject) => {
      inbox.request(`$JS.API.STREAM.MSG.GET.${streamOf(generation)}`, JSON.stringify(request), {
        timeoutMs: TIMEOUT_MS,
        handler: (reply) => {
          if (typeof reply === "string") reject(unavailable(reply));
          else {
            const { message, error } = reply.json<GetAnswer>();
            if (message) resolve(toStoredEvent(message));
            else if (isNothingThere(error?.err_code)) resolve(undefined);
            else reject(unavailable(`${error?.err_code} ${error?.description}`));
          }
          return false;
        },
      });
    });
  }

  return {
    async readTail(ref, afterStreamSeq, most = Infinity) {
      const events: StoredEvent[] = [];
      for (let after = afterStreamSeq; events.length < most;) {
        const event = await get(ref, { seq: after + 1, next_by_subj: logSubject(ref) });
        if (!event) break;
        events.push(event);
        after = event.streamSeq;
      }
      return events;
    },
    readLast: (ref) => get(ref, { last_by_subj: logSubject(ref) }),
  };
}

function toStoredEvent({ seq, data = "", hdrs = "" }: NonNullable<GetAnswer["message"]>): StoredEvent {
  const headerBlock = Buffer.from(hdrs, "base64").toString("latin1");
  return {
    payload: decodeBase64(data),
    streamSeq: seq,
    writer: headerValue(headerBlock, HEADER.writer),
  };
}

/** A value out of a raw `NATS/1.0` header block. Names are ours, so case is exact. */
function headerValue(block: string, name: string): string {
  const line = block.split("\r\n").find((text) => text.startsWith(`${name}:`));
  return line === undefined ? "" : line.slice(name.length + 1).trim();
}

function unavailable(reason: string): RepriseError {
  return new RepriseError("broker_unavailable", `The log's leader can't be read: ${reason}.`, {
    retryAfterMs: 1_000,
  });
}
