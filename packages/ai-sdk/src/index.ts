export {
  type FollowedGeneration,
  toUIMessageStreamResponse,
  type UiMessageStreamOptions,
} from "./ui-stream/to-ui-message-stream-response.ts";
export {
  createReprise,
  type RepriseProvider,
  type RepriseProviderOptions,
} from "./provider/create-reprise.ts";
export { RepriseError } from "@reprise/client";
