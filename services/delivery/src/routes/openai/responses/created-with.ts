import { type CreatedWith, toProtocolId } from "@reprise/projections";
import type { RequestedEvent } from "@reprise/protocol";

/** Returns the parameters of a response that its JSON repeats. They contain no text sent to its model. */
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
