import type {
  Capability,
  FinishReason,
  GenerationRequest,
  RequestMedia,
  TenantId,
  TokenLogprobs,
  TurnItem,
  Usage,
} from "@reprise/protocol";

export type EngineRequest = GenerationRequest;

/** The text to go on behind: what earlier attempts have produced since the last tool's answer. One that begins anew has `NO_PREFIX`. */
export interface Prefix {
  readonly text: string;
  readonly tokens: number;
}

export const NO_PREFIX: Prefix = { text: "", tokens: 0 };

/** What a generation has produced so far. */
export interface Progress {
  /** The output before the prefix, in order: thoughts, texts, tool calls and their answers, the last of which is its end. Empty without tools. */
  readonly turns: readonly TurnItem[];
  readonly prefix: Prefix;
  /** Tokens of reasoning among it, which count against the limit. Default 0. */
  readonly reasoningTokens?: number;
}

/** Where a run would go on. */
export interface Seam {
  readonly prefix: Prefix;
  /** Whether the run that is to be continued holds what the engine can't be given back: what the model has said to itself, or to refuse. */
  readonly reasoned: boolean;
  /** Whether the tokens of the prefix are the engine's own count. */
  readonly counted: boolean;
}

export const NO_PROGRESS: Required<Progress> = { turns: [], prefix: NO_PREFIX, reasoningTokens: 0 };

/** How many tokens have been produced, of which `max_output_tokens` is the limit. What a tool call takes does not count against it. */
export function countProduced(progress: Progress): number {
  return countText(progress) + (progress.reasoningTokens ?? 0);
}

/** How many of them are text, which a further run is told of as part of its input. */
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

/** What the parts of a request name. */
export interface MediaSource {
  /**
   * @param reference of a part, by `referenceOf`
   * @throws RepriseError `blob_not_found` where its time is over or it was deleted meanwhile, `broker_unavailable`
   */
  find(reference: string): Promise<NamedMedia>;
}

/** A server that an engine asks. */
export interface Server {
  /** What the engine calls it. Not for logs: a path may be a secret. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** How an engine of several servers chooses one. */
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
  /** Of its tokens, where the request asks for them: no larger than `MAX_LOGPROBS_SIZE`. */
  readonly logprobs?: TokenLogprobs;
}

/** What a model says to itself before it answers. Not part of the text, nor of a later attempt's prefix. */
export interface ReasoningEvent {
  readonly type: "reasoning";
  readonly text: string;
  readonly tokens?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
}

/** What a model says in the place of an answer, to refuse one. */
export interface RefusalEvent {
  readonly type: "refusal";
  readonly text: string;
  readonly tokens?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
}

/**
 * What an engine tells of reasoning that it does not show; `part` is which of several, default 0. `tokens` is how many tokens of the reasoning
 * are counted with it; default 1.
 */
export interface SummaryEvent {
  readonly type: "summary";
  readonly text: string;
  readonly tokens?: number;
  readonly part?: number;
  /** Whether it is reasoning where summaries can't be told: the engine has given the same text as such. Default false: it is left out there. */
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
  /** As the engine declares it, or `application/octet-stream`. */
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
  /** How many servers it is: a request may meet any of them. Default 1. */
  readonly servers?: number;
  /** Absent where there is only one to choose. */
  readonly replicas?: Replicas;
  /** What its model can do, as far as it is known. Default: all there is. */
  readonly capabilities?: ReadonlySet<Capability>;
  /** How many tokens its model takes, its answer among them, by the server's own word. Absent: not known. */
  readonly contextTokens?: number | undefined;
  /** Output that it may make without showing it. Absent: it shows all of it. */
  readonly unseen?: UnseenOutput | undefined;
  /** Whether the server has still to say what its model can do: then a request may be put to it all the same. Default false. */
  readonly isLearning?: boolean;

  /** Asks the server; `capabilities` and `contextTokens` have its word from then on. Never throws. False: it does not answer now. */
  learn?(signal: AbortSignal): Promise<boolean>;

  /**
   * Whether `generate` can go on behind a prefix of this request's text without a seam that shows, behind any turns, and
   * stay within the request's limit. Never throws; a request whose options are wrong can't be continued. Behind a tool's answer without
   * a prefix every engine goes on.
   */
  canContinue(request: EngineRequest, seam: Seam): boolean;

  /** How many tokens the input has; absent where only the engine's answer can tell. Never throws. */
  countInput?(request: EngineRequest): number;

  /**
   * Runs the model. Yields what comes behind the turns and the prefix, without empty texts, then exactly one `finish`, which is the
   * last.
   *
   * When `signal` aborts, the iteration throws the signal's reason at once and releases what it held upstream; leaving the
   * iteration early releases it too. Failures are RepriseErrors: `invalid_request` (the options are wrong), or EngineErrors:
   * `engine_unavailable` (nothing came; may carry `retryAfterMs`), `engine_rejected` (the engine refuses this request),
   * `engine_failed` (it broke off, or sent what is not a stream of tokens). Readers see the message, so it is the adapter's own: no
   * word of it is the engine's, the model's or the request's.
   */
  generate(request: EngineRequest, options: GenerateOptions): AsyncIterable<EngineEvent>;

  /** Lets go of connections. Runs that still go on fail. */
  close(): Promise<void>;
}
