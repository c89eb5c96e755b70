import { isVisible } from "../invalid-option.ts";
import type { Credentials } from "../http/credentials.ts";
import { createSseDecoder, RepriseError, type SseMessage, toRepriseError } from "@reprise/protocol/wire";
import { parseErrorAnswer } from "../http/error-answer.ts";
import { type Exchange, type HttpRequest, type HttpSettings, openExchange } from "../http/http.ts";
import type { ResumeInput } from "./resume-state.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";

/** Inputs from one connection to its reader. */
export type ConnectionInput =
  | ResumeInput
  /** With the generation's id, where the server said it. */
  | { readonly type: "opened"; readonly generation: string | null }
  /** All that has come was handed out; the next bytes have to be waited for. */
  | { readonly type: "caught_up" };

const GENERATION_ID_HEADER = "Reprise-Generation-Id";

/**
 * One connection from its request to its end, as inputs for `nextResume`. The last is `nothing_left`, `closed` or `broken`.
 * Bytes are read when the next input is asked for: a slow reader holds up the socket and fills no memory. Closes with the
 * iteration.
 * @throws the signal's reason, and nothing else
 */
export async function* readConnection(
  settings: HttpSettings,
  request: HttpRequest,
  signal: AbortSignal,
): AsyncGenerator<ConnectionInput, void, undefined> {
  let exchange: Exchange | undefined;
  try {
    exchange = await openExchange(settings, request, signal);
    if (exchange.status === 204) yield { type: "nothing_left" };
    else {
      await assertStream(exchange);
      yield { type: "opened", generation: exchange.header(GENERATION_ID_HEADER) };
      yield* readBody(exchange, settings.credentials);
    }
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    yield { type: "broken", error: toRepriseError(thrown) };
  } finally {
    exchange?.close();
  }
}

async function assertStream(exchange: Exchange): Promise<void> {
  if (exchange.status !== 200 && exchange.status !== 201) throw await exchange.error();
  const type = exchange.header("content-type");
  if (/^text\/event-stream/i.test(`${type}`)) return;
  throw new RepriseError("protocol_violation", `The answer is not text/event-stream, its type is ${type}.`);
}

async function* readBody(
  exchange: Exchange,
  credentials: Credentials,
): AsyncGenerator<ConnectionInput, void, undefined> {
  const decoder = createSseDecoder();
  for (let chunk = await exchange.read(); chunk; chunk = await exchange.read()) {
    const messages = decoder.push(chunk);
    yield { type: "alive" };
    if (decoder.retryMs !== undefined) yield { type: "retry", delayMs: decoder.retryMs };
    for (const message of messages) {
      if (message.event === "error") {
        const error = parseErrorAnswer(message.data, {});
        if (error.code !== "unauthenticated" || !credentials.refuse(exchange.secret)) throw error;
        throw new RepriseError("connection_lost", error.message, { cause: error });
      }
      if (message.event === "message") yield toInput(message);
    }
    yield { type: "caught_up" };
    await credentials.renewIfDue();
    if (credentials.current !== exchange.secret) return yield { type: "renewed" };
  }
  yield { type: "closed" };
}

/** @throws RepriseError `protocol_violation`; a cursor that can't be sent back as a header could not be resumed from. */
function toInput({ id, data }: SseMessage): ResumeInput {
  const event = parseEvent(data);
  if (isVisible(id)) return { type: "event", cursor: id, event };
  throw new RepriseError("protocol_violation", `Event ${event.seq} came without a cursor of visible ASCII.`);
}

/** Parses an event of a type that this version may not know: see `StreamEvent` for why it has only the known types. */
function parseEvent(data: string): StreamEvent {
  let event: Partial<StreamEvent> | null | undefined;
  try {
    event = JSON.parse(data);
  } catch {
    // The cause would quote a piece of the text.
  }
  if (Number.isSafeInteger(event?.seq) && typeof event?.type === "string") return event as StreamEvent;
  throw new RepriseError("protocol_violation", "An event is not JSON with a whole seq and a type.");
}
