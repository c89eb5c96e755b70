/*
 * The AG-UI 1.0 events of a generation, as in `data:`. TanStack AI reads the same events, and more of `metadata`. `test/clients` checks each against the
 * schemas of `@ag-ui/core`.
 */

/** Values without a field in the protocol, under a name of their producer. */
export type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Marked {
  readonly metadata?: Metadata;
}

export interface TokenUsage {
  readonly model: string;
  readonly inputTokens?: number;
  readonly outputTokens: number;
  readonly totalTokens?: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
}

export interface RunFinished extends Marked {
  readonly type: "RUN_FINISHED";
  readonly threadId: string;
  readonly runId: string;
  readonly outcome: { readonly type: "success"; readonly pendingToolCallIds?: readonly string[] };
  readonly usage: readonly TokenUsage[];
}

export interface RunError extends Marked {
  readonly type: "RUN_ERROR";
  readonly message: string;
  readonly code: string;
  readonly usage?: readonly TokenUsage[];
}

export type AgUiEvent =
  | (Marked & { readonly type: "RUN_STARTED"; readonly threadId: string; readonly runId: string })
  | RunFinished
  | RunError
  | (Marked & { readonly type: "TEXT_MESSAGE_START"; readonly messageId: string; readonly role: "assistant" })
  | { readonly type: "TEXT_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
  | { readonly type: "TEXT_MESSAGE_END"; readonly messageId: string }
  | {
      readonly type: "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END";
      readonly messageId: string;
    }
  | { readonly type: "REASONING_MESSAGE_START"; readonly messageId: string; readonly role: "reasoning" }
  | { readonly type: "REASONING_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
  | {
      readonly type: "REASONING_ENCRYPTED_VALUE";
      readonly subtype: "message";
      readonly entityId: string;
      readonly encryptedValue: string;
    }
  | {
      readonly type: "TOOL_CALL_START";
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId: string;
    }
  | { readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "TOOL_CALL_END"; readonly toolCallId: string }
  | {
      readonly type: "TOOL_CALL_RESULT";
      readonly messageId: string;
      readonly toolCallId: string;
      readonly content: string;
      readonly role: "tool";
    }
  | { readonly type: "CUSTOM"; readonly name: string; readonly value: unknown }
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: readonly object[] };
