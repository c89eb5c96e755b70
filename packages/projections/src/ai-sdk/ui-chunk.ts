/** Metadata that the AI SDK lets a stream attach to a part, by its producer. */
export interface ChunkMetadata {
  readonly reprise: {
    /** Reasoning in the form that its engine alone can read, and the engine's name for it: handed back with the next request of the chat. */
    readonly encrypted?: string;
    readonly id?: string;
    /** The part tells reasoning in short, and is none itself. */
    readonly summary?: true;
  };
}

/** Tokens, as `LanguageModelUsage` of the AI SDK has them. What is absent is unknown. */
export interface UiUsage {
  readonly inputTokens: number | undefined;
  readonly inputTokenDetails: {
    readonly noCacheTokens: number | undefined;
    readonly cacheReadTokens: number | undefined;
    readonly cacheWriteTokens: undefined;
  };
  readonly outputTokens: number;
  readonly outputTokenDetails: {
    readonly textTokens: number | undefined;
    readonly reasoningTokens: number | undefined;
  };
  readonly totalTokens: number | undefined;
}

/** `interrupted` is not among them: releases of the AI SDK before 7.0.149, and transports built on those, take it for a broken stream. */
type UiFinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** The chunks of the AI SDK's UI message stream that a generation is told in. */
export type UiChunk =
  | {
      readonly type: "start";
      readonly messageId: string;
      readonly messageMetadata: {
        readonly generation: string;
        readonly model: string | undefined;
        /** In Unix milliseconds. */
        readonly createdAt: number | undefined;
      };
    }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | {
      readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end";
      readonly id: string;
      readonly providerMetadata?: ChunkMetadata;
    }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
    }
  | {
      readonly type: "tool-input-error";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
      readonly errorText: string;
    }
  | { readonly type: "tool-output-available"; readonly toolCallId: string; readonly output: unknown }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: "source-document";
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  | {
      readonly type: "data-withdrawn";
      readonly data: { readonly kind: string };
      readonly transient: true;
    }
  | {
      readonly type: "error";
      readonly errorText: string;
      /** Code from the platform's catalogue. The AI SDK's own clients show only `errorText`. */
      readonly code: string;
      readonly retryable: boolean;
    }
  | { readonly type: "abort"; readonly reason: string }
  | {
      readonly type: "finish";
      readonly finishReason: UiFinishReason;
      readonly messageMetadata?: { readonly usage: UiUsage; readonly finishReason?: string };
    };
