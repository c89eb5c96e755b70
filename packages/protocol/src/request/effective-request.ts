import { joinPrompt } from "../conversation/join-prompt.ts";
import type { RequestedEvent } from "../event/event.ts";
import type { GenerationRequest } from "./request.ts";

/**
 * What an engine is asked. `request` stays what the client has sent, because a repeated create is compared with it; what the platform adds
 * to it stands beside it in seq 0.
 */
export function effectiveRequest({
  request,
  prompt,
}: Pick<RequestedEvent, "request" | "prompt">): GenerationRequest {
  return prompt ? { ...request, input: joinPrompt(prompt, request.input) } : request;
}
