// Headers of answers that clients of several protocols read.

/** The header that carries the id of a generation whose create is answered with its stream. */
export const GENERATION_ID_HEADER = "Reprise-Generation-Id";

/** Tells clients of OpenAI's API, which otherwise retry by status, that the request must not be sent again after a failure. */
export const SHOULD_RETRY_HEADER = "X-Should-Retry";

/** Names the run for `WorkflowChatTransport`, which resumes by it. */
export const RUN_ID_HEADER = "X-Workflow-Run-Id";
/** The index of the last chunk there is, for a reader that asks for the last few. */
export const TAIL_INDEX_HEADER = "X-Workflow-Stream-Tail-Index";
/** The protocol, and its version. */
export const UI_STREAM_HEADER = "X-Vercel-AI-UI-Message-Stream";
