import {
  type Failure,
  isErrorCode,
  type KnownEvent,
  type TextEvent,
  toHttpStatus,
  type UnknownEvent,
  type Usage,
} from "@reprise/protocol";
import type { ProjectedRun } from "../projection.ts";
import { toProtocolId } from "../protocol-id.ts";
import { TextPlaces } from "../text-places.ts";
import {
  type ChatAnnotation,
  toChatAnnotation,
  type ChatFinish,
  toCancelledFinish,
  toChatFinish,
  type ChatUsage,
  toChatUsage,
  type ChatLogprobs,
  toChatLogprobs,
} from "./answer-parts.ts";
import { type ChatBlob, type ChatCall, toChatCall } from "./chunk.ts";
import type { OpenAiErrorBody } from "../openai-error.ts";
import { toChatFailure } from "./errors.ts";

export interface ChatMessage {
  role: "assistant";
  content: string | null;
  refusal: string | null;
  reasoning?: string;
  reasoning_content?: string;
  tool_calls?: ChatCall[];
  annotations?: ChatAnnotation[];
  blobs?: ChatBlob[];
}

export interface ChatCompletionBody {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: [ChatFinish & { index: 0; message: ChatMessage; logprobs: ChatLogprobs | null }];
  usage: ChatUsage;
}

/** Answer of `POST /v1/chat/completions` without `stream`. */
export type ChatAnswer =
  | { readonly status: 200; readonly body: ChatCompletionBody }
  /** The generation has failed. */
  | { readonly status: number; readonly body: OpenAiErrorBody };

type End = Extract<
  KnownEvent,
  { type: "generation.completed" | "generation.cancelled" | "generation.failed" }
>;
type Said<Type extends TextEvent["type"]> = Extract<TextEvent, { type: Type }>;

/** A log folded into the one JSON body of a chat completion. Events come in the log's order, from seq 1, and as they are to be shown. */
class ChatAnswerFold {
  readonly #run: ProjectedRun;
  readonly #answered = new Set<string>();
  #said: TextEvent[] = [];
  #end: End | undefined;
  #isHalted = false;

  constructor(run: ProjectedRun) {
    this.#run = run;
  }

  /** Undefined until the log has its end. */
  get answer(): ChatAnswer | undefined {
    const end = this.#end;
    if (!end) return undefined;
    if (end.type === "generation.failed") return toFailedAnswer(end.error);
    const finish =
      end.type === "generation.completed"
        ? toChatFinish(end.finish_reason)
        : toCancelledFinish(this.#isHalted);
    return { status: 200, body: this.#toBody(finish, end.usage) };
  }

  apply(event: KnownEvent | UnknownEvent): void {
    switch (event.type) {
      case "output.delta":
      case "reasoning.delta":
      case "refusal.delta":
      case "tool.call":
      case "output.annotation":
      case "output.blob":
        this.#said.push(event);
        return;
      case "tool.result":
        this.#answered.add(event.call_id);
        return;
      case "output.rewind":
        this.#said = this.#said.filter(({ seq }) => seq <= event.to_seq);
        return;
      case "moderation.halted":
        this.#isHalted = true;
        return;
      case "generation.completed":
      case "generation.cancelled":
      case "generation.failed":
        this.#end = event;
        return;
      default:
        return;
    }
  }

  #toBody(finish: ChatFinish, usage: Usage): ChatCompletionBody {
    const { generation, model, createdAtMs } = this.#run;
    return {
      id: toProtocolId("chatcmpl-", generation),
      object: "chat.completion",
      created: Math.floor(createdAtMs / 1_000),
      model,
      choices: [{ index: 0, message: this.#toMessage(), logprobs: this.#toLogprobs(), ...finish }],
      usage: toChatUsage(usage),
    };
  }

  #toMessage(): ChatMessage {
    const content = this.#textOf("output.delta");
    const refusal = this.#textOf("refusal.delta");
    const reasoning = this.#textOf("reasoning.delta");
    const calls = this.#toCalls();
    const annotations = this.#toAnnotations();
    const blobs = this.#of("output.blob").map(toBlob);
    const hasOther = refusal !== "" || calls.length > 0;
    return {
      role: "assistant",
      content: content === "" && hasOther ? null : content,
      refusal: refusal === "" ? null : refusal,
      ...(reasoning !== "" && { reasoning, reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(annotations.length > 0 && { annotations }),
      ...(blobs.length > 0 && { blobs }),
    };
  }

  /** Calls that the platform's own client has answered are none of this one's. */
  #toCalls() {
    return this.#of("tool.call")
      .filter(({ call_id: id }) => !this.#answered.has(id))
      .map(toChatCall);
  }

  #toAnnotations(): ChatAnnotation[] {
    let places = new TextPlaces();
    for (const { seq, text } of this.#of("output.delta")) places = places.with(seq, text);
    return this.#of("output.annotation").flatMap((event) => toChatAnnotation(event, places) ?? []);
  }

  #toLogprobs(): ChatLogprobs | null {
    const content = this.#of("output.delta").flatMap(({ logprobs }) => toChatLogprobs(logprobs ?? []));
    return content.length > 0 ? { content, refusal: null } : null;
  }

  #textOf(type: "output.delta" | "reasoning.delta" | "refusal.delta"): string {
    return this.#of(type)
      .map(({ text }) => text)
      .join("");
  }

  /** Returns events of a type; text only of output 0, if there are several outputs. */
  #of<Type extends TextEvent["type"]>(type: Type): Said<Type>[] {
    return this.#said.filter((event): event is Said<Type> => {
      const isOther = event.type === "output.delta" && (event.output ?? 0) !== 0;
      return event.type === type && !isOther;
    });
  }
}

/** Nothing but its kind is left of a blob that is withdrawn. */
function toBlob({ kind, blob: id, media_type: type, bytes }: Said<"output.blob">): ChatBlob {
  if (id === undefined) return { kind };
  return {
    kind,
    id,
    ...(type !== undefined && { media_type: type }),
    ...(bytes !== undefined && { bytes }),
  };
}

function toFailedAnswer(failure: Failure): ChatAnswer {
  const status = isErrorCode(failure.code) ? toHttpStatus(failure.code) : 500;
  return { status, body: toChatFailure(failure) };
}

/** The fold as a reader of a log uses it: each `begin` gives a fold of its own. */
export const chatAnswer = {
  name: "openai-chat answer",
  begin: (run: ProjectedRun): ChatAnswerFold => new ChatAnswerFold(run),
  project(state: ChatAnswerFold, event: KnownEvent | UnknownEvent): { readonly state: ChatAnswerFold } {
    state.apply(event);
    return { state };
  },
};
