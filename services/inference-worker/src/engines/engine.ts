import type {
  Capability,
  FinishReason,
  GenerationRequest,
  InputRecord,
  RequestMedia,
  Seq,
  TenantId,
  TokenLogprobs,
  TurnItem,
  Usage,
} from "@reprise/protocol";

export type EngineRequest = GenerationRequest;

/** The text to continue: the output of earlier attempts since the last tool's answer. A run that starts from the beginning has `NO_PREFIX`. */
export interface Prefix {
  readonly text: string;
  readonly tokens: number;
}

export const NO_PREFIX: Prefix = { text: "", tokens: 0 };

/** The output of a generation so far. */
export interface Progress {
  /** The output before the prefix, in order: thoughts, texts, tool calls and their answers, the last of which is its end. Empty without tools. */
  readonly turns: readonly TurnItem[];
  readonly prefix: Prefix;
  /** Tokens of reasoning among it, which count against the limit. Default 0. */
  readonly reasoningTokens?: number;
}

/** The place where a run would continue. */
export interface Seam {
  readonly prefix: Prefix;
  /** True if the run to continue holds output that the engine does not accept back: reasoning or a refusal. */
  readonly reasoned: boolean;
  /** True if the engine itself has counted the tokens of the prefix. */
  readonly counted: boolean;
}

export const NO_PROGRESS: Required<Progress> = { turns: [], prefix: NO_PREFIX, reasoningTokens: 0 };

/** Counts the tokens produced so far, which `max_output_tokens` limits. Tokens of tool calls are not counted. */
export function countProduced(progress: Progress): number {
  return countText(progress) + (progress.reasoningTokens ?? 0);
}

/** Counts the tokens of text, which a further run gets as part of its input. */
export function countText({ turns, prefix }: Progress): number {
  return turns.reduce((sum, item) => sum + (item.type === "text" ? item.tokens : 0), prefix.tokens);
}

/** The content that a part of a request names. */
export interface NamedMedia extends RequestMedia {
  /** All bytes, as many as `bytes` says, or an error: RepriseError `blob_not_found`, `broker_unavailable`. May be read again. */
  read(): AsyncIterable<Uint8Array>;
  /**
   * An address that is good for minutes, and needs no key.
   * @throws RepriseError `broker_unavailable`; `config_invalid` where the worker does not know by which name engines reach it
   */
  link(): Promise<string>;
}

/** Gives access to the media that the parts of a request name. */
export interface MediaSource {
  /**
   * @param reference of a part, by `referenceOf`
   * @throws RepriseError `blob_not_found` where its time is over or it was deleted meanwhile, `broker_unavailable`
   */
  find(reference: string): Promise<NamedMedia>;
}

/** A server that an engine asks. */
export interface Server {
  /** The engine's name of the server. Not for logs: a path may be a secret. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** Guides the choice among the servers of an engine. */
export interface ServerRoute {
  /** The ids of servers on which earlier attempts have failed: others are asked where there are any. */
  readonly avoid: ReadonlySet<string>;
  /** Called with the server that is asked, and again where that one has refused and another one is asked. */
  took(server: Server): void;
}

/** One of several servers. */
export interface ReplicaView {
  readonly inFlight: number;
  readonly isEjected: boolean;
}

/** Is told of servers, by their places in the configuration. */
export interface ReplicaObserver {
  /** A request has ended there; `outcome` is `answered`, `left` (by its reader, or its own fault), `busy`, `refused` or `failed`. */
  onEnded(replica: number, outcome: string): void;
  /** It gets no requests for now. */
  onEjected(replica: number, because: string): void;
  /** It gets requests again. */
  onBack(replica: number): void;
}

/** The servers that an engine chooses among. */
export interface Replicas {
  readonly servers: readonly Server[];
  views(): readonly ReplicaView[];
  /** From now on, of those that are ejected at once; an earlier observer is told nothing more. */
  observe(observer: ReplicaObserver): void;
}

/** An engine that was silent for longer than this, in milliseconds, is taken for one that takes no requests. */
export const SILENT_MS = 10_000;

/** The reason of an abort because the engine has said nothing for longer than the policy allows. */
export class EngineSilence extends Error {
  readonly silentMs: number;

  constructor(silentMs: number) {
    super(`The engine said nothing for ${silentMs} ms.`);
    this.silentMs = silentMs;
  }
}

export interface GenerateOptions extends Progress {
  readonly signal: AbortSignal;
  /** Whose request it is: a server may keep what it has computed of a prompt for this tenant alone. */
  readonly tenant?: TenantId | undefined;
  /** Absent: any server will do. */
  readonly route?: ServerRoute | undefined;
  /** Absent: the request names nothing. */
  readonly media?: MediaSource | undefined;
  /** Called when the model has made something that is no event yet: a piece of a tool call. It restarts the timeout between tokens. */
  readonly onPiece?: () => void;
  /** Called when the model has said its last word, and only the engine's count of it may come: no silence from here on is the model's. */
  readonly onFinished?: () => void;
  /** Called when the model speaks again: some engines give a finish reason before their last words. */
  readonly onResumed?: () => void;
  /** Called for a part of the engine's answer that is left out because no event has a place for it, by a name of the adapter's. */
  readonly onLeftOut?: (part: string) => void;
  /** Called for a field of the request that the engine refuses, and can do without: it is left out from now on. */
  readonly onWithoutField?: ((name: string) => void) | undefined;
  /** The run's place in its trace, as W3C Trace Context has it: sent with the request to a model server. */
  readonly traceparent?: string | undefined;
  /** Called once, with what the server calls its answer and the model that gives it, as far as it says so. */
  readonly onAnswer?: (answer: AnswerNames) => void;
  /** The records of the input log after what the progress has consumed, up to `input.end`; a text may be empty. Absent: the request has all of its input. */
  readonly input?: AsyncIterable<InputRecord> | undefined;
}

export interface AnswerNames {
  readonly id: string | undefined;
  readonly model: string | undefined;
}

/**
 * `tokens` is how many of the model's tokens `text` holds; default 1. `inputTokens`, on the first of a run, is how many tokens the
 * input has, without what the generation has produced; an engine that says so counts `tokens` itself. `cachedInputTokens`, on the first
 * too, is how many of them it took from its cache.
 */
export interface TextEvent {
  readonly type: "text";
  readonly text: string;
  readonly tokens?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  /** Log probabilities of its tokens, if the request asks for them: no larger than `MAX_LOGPROBS_SIZE`. */
  readonly logprobs?: TokenLogprobs;
  /** The last entry of the input that the output up to here takes account of. Absent: as before. */
  readonly consumed?: Seq;
  /** Which utterance or turn the text belongs to: numbers that grow, from 1. Absent: none. */
  readonly item?: number;
  /** The item's text up to here does not change any more. Nothing of an item is final before its revision. */
  readonly final?: true;
  /** The text takes the place of what was said of its item, the last one. */
  readonly revises?: true;
}

/** Reasoning of the model before it answers. Not part of the text, nor of a later attempt's prefix. */
export interface ReasoningEvent {
  readonly type: "reasoning";
  readonly text: string;
  readonly tokens?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
}

/** Text that the model gives instead of an answer, to refuse one. */
export interface RefusalEvent {
  readonly type: "refusal";
  readonly text: string;
  readonly tokens?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
}

/**
 * A summary of reasoning that the engine does not show; `part` numbers one of several, default 0. `tokens` is the number of reasoning tokens
 * counted with it; default 1.
 */
export interface SummaryEvent {
  readonly type: "summary";
  readonly text: string;
  readonly tokens?: number;
  readonly part?: number;
  /**
   * True if readers without support for summaries get the text as reasoning, because the engine has sent it as reasoning too. Default false: they get nothing.
   */
  readonly isReasoning?: boolean;
}

/** Reasoning that the engine alone can read. An `id` has at most `LIMITS.toolCallIdLength` characters: a request that hands it back has no more. */
export interface SealedEvent {
  readonly type: "sealed";
  readonly encrypted: string;
  readonly id?: string;
}

/**
 * A piece of what a model makes beside words. Pieces of one kind follow one another until the last, which may be empty; the next one begins another
 * content.
 */
export interface MediaPieceEvent {
  readonly type: "media";
  readonly kind: "image" | "audio";
  /** The type that the engine declares, or `application/octet-stream`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** Where something in the text comes from. `from` and `to` are places in the text of this run, in code points; absent where they are unknown. */
export interface AnnotationEvent {
  readonly type: "annotation";
  readonly kind: "url" | "file";
  readonly from?: number;
  readonly to?: number;
  readonly url?: string;
  readonly title?: string;
  readonly file?: string;
  readonly name?: string;
  readonly quote?: string;
}

/**
 * The model asks for a tool. `callId` is the upstream's own name for the call, if it has one: the worker makes it unique. All calls
 * of a run come before its finish, whose reason is `tool_calls`; the next run has their answers among its `turns`.
 */
export interface ToolCallEvent {
  readonly type: "tool_call";
  readonly callId: string | undefined;
  readonly name: string;
  /** JSON, as the model wrote it: not necessarily valid. */
  readonly arguments: string;
  /**
   * State that only the model server can read and asks to get back with the call, as it sent it (`extra_content`): a signature of Gemini's thoughts.
   * At most 64 KiB as JSON; larger state is left out by the adapter, which says so through `onLeftOut`.
   */
  readonly providerState?: Readonly<Record<string, unknown>>;
}

/** `usage` is this run's own, without what the text so far took; absent where the sum of `tokens` is all there is to say. */
export interface FinishEvent {
  readonly type: "finish";
  readonly reason: FinishReason;
  /** True if the engine has given none, though it says that its answer is whole. Default false. */
  readonly isReasonMissing?: boolean;
  readonly usage?: Usage;
}

export type EngineEvent =
  | TextEvent
  | ReasoningEvent
  | RefusalEvent
  | SummaryEvent
  | SealedEvent
  | AnnotationEvent
  | MediaPieceEvent
  | ToolCallEvent
  | FinishEvent;

/** Output that no event tells of while it is made: reasoning that is hidden, and calls of tools. */
export interface UnseenOutput {
  /** So much is reserved of budgets before the engine is asked. */
  readonly tokens: number;
  /** True if the model never makes more output than that, so that the engine may always be told so. */
  readonly isMost: boolean;
}

/**
 * Produces tokens: an adapter to a model server, or the simulator. The port belongs to the worker, which runs many generations on one
 * engine at once.
 */
export interface Engine {
  readonly name: string;
  /** Where its requests go; absent for one that asks no server, or chooses among several. */
  readonly address?: Pick<Server, "host" | "port"> | undefined;
  /** The number of servers: a request may reach any of them. Default 1. */
  readonly servers?: number;
  /** Absent where there is only one to choose. */
  readonly replicas?: Replicas;
  /** The known capabilities of its model. Default: all of them. */
  readonly capabilities?: ReadonlySet<Capability>;
  /** The context size of its model in tokens, answer included, as the server reports it. Absent: not known. */
  readonly contextTokens?: number | undefined;
  /** Output that it may make without showing it. Absent: it shows all of it. */
  readonly unseen?: UnseenOutput | undefined;
  /** True until the server has reported the capabilities of its model: a request may be sent to the model in any case. Default false. */
  readonly isLearning?: boolean;

  /** Asks the server; `capabilities` and `contextTokens` have its word from then on. Never throws. False: it does not answer now. */
  learn?(signal: AbortSignal): Promise<boolean>;

  /**
   * True if `generate` can continue a prefix of this request's text without a visible seam, after any turns, and
   * stay within the request's limit. Never throws; false for a request whose options are wrong. After a tool's answer without
   * a prefix, every engine can continue.
   */
  canContinue(request: EngineRequest, seam: Seam): boolean;

  /** Counts the input's tokens; absent if only the engine's answer has the count. Never throws. */
  countInput?(request: EngineRequest): number;

  /**
   * Runs the model. Yields the output after the turns and the prefix, without empty texts (but for one of 0 tokens that tells `consumed`), then exactly one `finish`, which is the
   * last.
   *
   * When `signal` aborts, the iteration throws the signal's reason at once and releases its upstream resources; leaving the
   * iteration early releases them too. Failures are RepriseErrors: `invalid_request` (the options are wrong), or EngineErrors:
   * `engine_unavailable` (nothing came; may carry `retryAfterMs`), `engine_rejected` (the engine refuses this request),
   * `engine_failed` (it broke off, or did not send a stream of tokens). Readers see the message, so the adapter writes it: it holds no
   * text of the engine, the model or the request.
   */
  generate(request: EngineRequest, options: GenerateOptions): AsyncIterable<EngineEvent>;

  /** Closes the connections. Active runs fail. */
  close(): Promise<void>;
}
