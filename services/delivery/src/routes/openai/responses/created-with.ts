import { type CreatedWith, toProtocolId } from "@reprise/projections";
import type { RequestedEvent } from "@reprise/protocol";

/** What a response was created with, as far as its JSON tells it again: nothing that was said to its model. */
export function toCreatedWith({
  request,
  context,
}: Pick<RequestedEvent, "request" | "context">): CreatedWith {
  return {
    metadata: request.metadata,
    conversation: context?.conversation,
    previousResponse: context?.parent && toProtocolId("resp_", context.parent),
  };
}
