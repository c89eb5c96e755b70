export { toRunErrorFrames } from "./ag-ui/errors.ts";
export { parseRunInput, type ParsedRun, type ParseOptions } from "./ag-ui/parse-request.ts";
export { agUiProjection, type AgUiState } from "./ag-ui/project.ts";
export { agUiSoFar, restartsOf, snapshotFrames, type SoFar } from "./ag-ui/snapshot.ts";
export { RUN_ID_METADATA, THREAD_ID_METADATA } from "./ag-ui/run-names.ts";
export { toNothingFrames, toUiErrorFrames } from "./ai-sdk/errors.ts";
export { MESSAGE_ID_METADATA, parseUiRequest, type UiCall, type UiModels } from "./ai-sdk/parse-request.ts";
export { parseStartIndex, tailIndexOf, toFirstFrame } from "./ai-sdk/position.ts";
export {
  createUiStream,
  endUiStreamAgain,
  type UiStreamOptions,
  type UiStreamState,
} from "./ai-sdk/project.ts";
export { parseProtocolId, type ProtocolPrefix, toProtocolId } from "./protocol-id.ts";
export { chatAnswer, type ChatAnswer } from "./openai-chat/answer.ts";
export { toChatErrorBody, toChatErrorFrame } from "./openai-chat/errors.ts";
export { parseChatRequest, type ChatRequest } from "./openai-chat/parse-request.ts";
export { parseChatPosition, toChatPosition } from "./openai-chat/position.ts";
export { chatProjection, type ChatState } from "./openai-chat/project.ts";
export type { Frame, Projected, ProjectedRun, Projection } from "./projection.ts";
export { parseTanstackRequest } from "./tanstack/parse-request.ts";
export { parseOffset } from "./tanstack/position.ts";
export { endAgain, tanstackProjection, type TanstackState } from "./tanstack/project.ts";
export { type AnswerState, itemsIn, responsesAnswer, toAnswer } from "./openai-responses/answer.ts";
export { toResponsesErrorBody, toResponsesErrorFrame } from "./openai-responses/errors.ts";
export { type ListedItem, toInputItems } from "./openai-responses/input-list.ts";
export { generationOfItem } from "./openai-responses/output/items.ts";
export {
  type Predecessor,
  parseResponsesRequest,
  type ResponsesRequest,
} from "./openai-responses/parse-request.ts";
export { parseStartingAfter } from "./openai-responses/position.ts";
export { openaiResponses, type ResponsesState } from "./openai-responses/project.ts";
export type { CreatedWith } from "./openai-responses/response.ts";
