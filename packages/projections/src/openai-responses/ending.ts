import type { FinishReason, KnownEvent, TerminalType, UnknownEvent } from "@reprise/protocol";
import type { ItemStatus } from "./output/items.ts";
import type { ResponseNow, ResponseStatus } from "./response.ts";

type EndEvent = Extract<KnownEvent, { type: TerminalType }>;

/** The end of a response. */
export interface Ending extends Pick<ResponseNow, "error" | "incomplete" | "usage"> {
  readonly type: "response.completed" | "response.incomplete" | "response.failed";
  readonly status: ResponseStatus;
  /** Status of the item that has not ended before. */
  readonly itemStatus: ItemStatus;
}

/** Earlier events that determine the meaning of the end. */
export interface Before {
  /** Moderation has stopped it. */
  readonly halted: boolean;
  /** The model has refused. */
  readonly refused: boolean;
}

/** Undefined for an event that is no end. */
export function endingOf(event: KnownEvent | UnknownEvent, before: Before): Ending | undefined {
  switch (event.type) {
    case "generation.completed":
      return completed(event, before);
    case "generation.failed": {
      const { code, message } = event.error;
      const failed = { type: "response.failed", status: "failed", itemStatus: "incomplete" } as const;
      return { ...failed, error: { code, message }, usage: event.usage };
    }
    case "generation.cancelled":
      // The API has no event for it: clients refuse types that they do not know.
      return {
        type: "response.incomplete",
        status: "cancelled",
        itemStatus: "incomplete",
        usage: event.usage,
      };
    default:
      return undefined;
  }
}

/** Sent text is no longer valid, and can't be retracted: the text continues elsewhere. */
export const RESTARTED: Ending = {
  type: "response.failed",
  status: "failed",
  itemStatus: "incomplete",
  error: {
    code: "restarted",
    message:
      "The response has begun again with another worker. What came before does not count; retrieve the response for the whole.",
  },
};

function completed(
  { finish_reason: reason, usage }: Extract<EndEvent, { type: "generation.completed" }>,
  before: Before,
): Ending {
  const incomplete = incompleteReason(reason, before);
  if (incomplete === undefined) {
    return { type: "response.completed", status: "completed", itemStatus: "completed", usage };
  }
  return { type: "response.incomplete", status: "incomplete", itemStatus: "incomplete", incomplete, usage };
}

/** Undefined where the model has ended by itself. */
function incompleteReason(reason: FinishReason, { halted, refused }: Before): string | undefined {
  if (halted) return "content_filter";
  switch (reason) {
    case "length":
      return "max_output_tokens";
    case "content_filter":
      // A model that refuses has said so: that is an answer.
      return refused ? undefined : "content_filter";
    case "timeout":
    case "schema_mismatch":
    case "interrupted":
      return reason;
    case "stop":
    case "tool_calls":
    case "other":
      return undefined;
    default:
      // A reason of a later version.
      return undefined;
  }
}
