import { pause } from "@reprise/async";
import type { Appender } from "@reprise/stream";
import {
  type EffectiveTimeouts,
  type EventDraft,
  type GenerationRequest,
  type InputRecord,
  MAX_LOGPROBS,
  REVISED,
  type Seq,
  toRepriseError,
  type TenantId,
  type UnixMs,
  type TokenLogprobs,
} from "@reprise/protocol";
import { busyRetryDelayMs, retryDelayMs } from "../../domain/retry-delay.ts";
import { isStoreAway, type EngineOutcome, type TurnTimeout } from "../../domain/after-turn.ts";
import type { Turn } from "../../domain/plan-attempt.ts";
import {
  type AnnotationEvent,
  type AnswerNames,
  countProduced,
  type Engine,
  type EngineEvent,
  EngineSilence,
  type MediaPieceEvent,
  type MediaSource,
  type ReasoningEvent,
  type RefusalEvent,
  type SealedEvent,
  type ServerRoute,
  type SummaryEvent,
  type TextEvent,
  type ToolCallEvent,
} from "../../engines/engine.ts";
import { EngineError } from "../../engines/engine-error.ts";
import type { OutputMedia } from "../../media/output-media.ts";
import type { Pace } from "../pace.ts";
import type { TurnTiming } from "../metrics/turn-timing.ts";
import type { RunBudget } from "../run-budget.ts";
import type { RunRequest } from "../run-request.ts";
import type { InputMeter } from "./input-meter.ts";
import { type TurnWatch, watchTurn } from "./turn-watch.ts";

/** An engine that is this many characters ahead of the log has to wait. */
const MAX_BACKLOG = 256 * 1_024;
const BROKER_BUDGET_MS = 20_000;

/** Is told of the engine's tokens, and may have it wait. */
export type Throttle = Pick<Pace, "said" | "hold">;

export interface EngineRun {
  engine: Engine;
  /** Released once the engine has begun: its bytes are in the log. */
  request: Pick<RunRequest, "get" | "release">;
  turn: Turn;
  /** Done before each request to the engine, a busy one's further ones included: takes out of the prompt what was withdrawn meanwhile. */
  prepare?: (() => Promise<void>) | undefined;
  /** The media that the request names. Called when the engine is asked. */
  media?: (() => MediaSource | undefined) | undefined;
  /** Tells the log how much of it was consumed. */
  meter?: Pick<InputMeter, "mark"> | undefined;
  /** Follows the input log. Called when the engine is asked. */
  input?: ((signal: AbortSignal) => AsyncIterable<InputRecord>) | undefined;
  timeouts: EffectiveTimeouts;
  /** When the generation as a whole has to be over, in wall-clock milliseconds. */
  totalAtMs: UnixMs;
  /** The appender of the log that gets the text. */
  appender: Pick<Appender, "append" | "backlog" | "settled" | "head">;
  /** Slows the engine, to its readers or to what its tenant may use. */
  throttle?: Throttle | undefined;
  /** Ends the run when it is used up. */
  budget?: Pick<RunBudget, "spent" | "counted" | "toError" | "hold" | "mostOutput"> | undefined;
  /** Aborted when this worker is fenced, or is to stop. An engine that has said its last word is not stopped: only its usage may still come. */
  signal: AbortSignal;
  /** For how long in a row the broker is asked for what a request needs. Default 20 s. */
  brokerBudgetMs?: number;
  /** True if a busy engine is asked again, as long as the policy waits for the first token. Default true. */
  waitsWhileBusy?: boolean;
  /** Stores what the model makes beside words. Default: that is left out. */
  output?: Pick<OutputMedia, "take"> | undefined;
  /** The optional types of events that may be appended. Default: none. */
  emits?: ReadonlySet<string> | undefined;
  /** True if moderation judges the text, before or after readers see it: only the numbers of log probabilities are appended then. Default false. */
  isJudged?: boolean;
  /** Number of log probabilities that the run may still give. Default: no limit. */
  logprobs?: { left: number };
  onLeftOut?: (part: string) => void;
  onWithoutField?: ((name: string) => void) | undefined;
  /** Handed to the engine, as the next three are. */
  tenant?: TenantId | undefined;
  route?: ServerRoute | undefined;
  traceparent?: string | undefined;
  onAnswer?: ((answer: AnswerNames) => void) | undefined;
  /** Is told how long the engine takes. */
  timing?: Pick<TurnTiming, "arrived" | "firstChunk"> | undefined;
  /** Called once, for the first thing that the engine says. */
  onFirst?: (() => void) | undefined;
  /** Called once, for the first try that nothing has answered at the engine's address: further tries follow. */
  onUnreachable?: ((error: EngineError) => void) | undefined;
  /** Called for what was appended. */
  onSaid?: ((event: SaidEvent) => void) | undefined;
  /** Called when the engine has said its last word. */
  onFinished?: (() => void) | undefined;
  /** From 0 to 1. */
  random?: () => number;
}

/** The model's output, token by token, and summaries or seals of hidden output. */
export type SaidEvent = WordsEvent | MediaPieceEvent;

type WordsEvent = TextEvent | ReasoningEvent | RefusalEvent | SummaryEvent | SealedEvent;

/**
 * Runs an engine for one turn: its text goes to the log as it comes, its tool calls and its end are the outcome. An engine that is busy
 * is asked again, in the time that the policy has for the first token. That time begins when the engine is asked: what the request needs of
 * the broker, its prompt as it may be given to a model and the content that it names, is asked for before, for `brokerBudgetMs`.
 */
export async function runEngine(run: EngineRun): Promise<EngineOutcome> {
  const { timeouts, totalAtMs, signal, budget, timing } = run;
  const { brokerBudgetMs = BROKER_BUDGET_MS, random = Math.random } = run;
  const late = new AbortController();
  let timeout: TurnTimeout | undefined;
  using watch = watchTurn({
    timeouts,
    totalAtMs,
    onArrived: timing && ((waitedMs) => timing.arrived(waitedMs)),
    onFirst: run.onFirst,
    onTimeout(name) {
      timeout = name;
      late.abort(name === "total" ? undefined : new EngineSilence(timeouts[name].after_ms));
    },
  });
  const heard: EngineProgress = {
    calls: [],
    annotations: [],
    counted: 0,
    reasoned: 0,
    item: undefined,
    last: undefined,
  };
  using unfinished = abortedBy(signal);
  const stop = AbortSignal.any([unfinished.signal, late.signal, ...(budget ? [budget.spent] : [])]);
  const onFinished = () => {
    unfinished.letGo();
    watch.finished();
    run.onFinished?.();
  };
  const onResumed = () => {
    unfinished.follow();
    watch.resumed();
  };
  let firstTokenDueMs: number | undefined;
  let brokerDueMs: number | undefined;
  for (let tries = 0; ; tries++) {
    try {
      stop.throwIfAborted();
      await run.prepare?.();
      await budget?.hold(stop);
      stop.throwIfAborted();
      if (firstTokenDueMs === undefined) watch.waiting();
      firstTokenDueMs ??= performance.now() + timeouts.first_token.after_ms;
      const over = new AbortController();
      const control = { watch, stop, over: over.signal, onFinished, onResumed };
      await consumeEngine(run, heard, control).finally(() => {
        over.abort();
        watch.listening(false);
      });
      break;
    } catch (thrown) {
      const { counted } = heard;
      if (unfinished.signal.aborted) return { kind: "stopped", counted };
      if (timeout) return { kind: "timeout", name: timeout, counted };
      if (budget?.spent.aborted) return { kind: "spent", error: budget.toError(), counted };
      const nowMs = performance.now();
      if (isStoreAway(thrown) && !watch.hasBegun) {
        // What takes its time now is not the engine.
        watch.held();
        firstTokenDueMs = undefined;
        brokerDueMs ??= nowMs + brokerBudgetMs;
        const waitMs = retryDelayMs(tries, random());
        if (nowMs + waitMs > brokerDueMs) return { kind: "unprepared", error: thrown, counted };
        await pause(waitMs, stop);
        continue;
      }
      brokerDueMs = undefined;
      const leftMs = (firstTokenDueMs ?? nowMs) - nowMs;
      const waitMs = isBusy(thrown) ? toWait(run, thrown, tries, leftMs) : undefined;
      if (waitMs === undefined) return { kind: "failed", error: toRepriseError(thrown), counted };
      if (tries === 0 && thrown instanceof EngineError && thrown.isUnreachable) run.onUnreachable?.(thrown);
      await pause(waitMs, stop);
    }
  }
  const { last, calls, annotations, counted, reasoned } = heard;
  const { reason = "stop", isReasonMissing = false } = last ?? {};
  return {
    kind: "finished",
    reason,
    isReasonMissing,
    usage: last?.usage,
    calls,
    annotations,
    counted,
    reasoned,
  };
}

/** A signal that follows another one until it is let go. */
function abortedBy(signal: AbortSignal) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const letGo = () => signal.removeEventListener("abort", abort);
  const follow = () => (signal.aborted ? abort() : signal.addEventListener("abort", abort));
  follow();
  return { signal: controller.signal, letGo, follow, [Symbol.dispose]: letGo };
}

interface TurnControl {
  readonly watch: TurnWatch;
  readonly stop: AbortSignal;
  /** Aborted when the engine is asked no more: it may have left its input before the end. */
  readonly over: AbortSignal;
  readonly onFinished: () => void;
  readonly onResumed: () => void;
}

/** The progress of an engine's answer. */
interface EngineProgress {
  readonly calls: ToolCallEvent[];
  readonly annotations: AnnotationEvent[];
  counted: number;
  reasoned: number;
  /** The last item, and the last event before its first. */
  item: { readonly number: number; readonly after: Seq } | undefined;
  last: Extract<EngineEvent, { type: "finish" }> | undefined;
}

/**
 * Appends the engine's output. Only text waits for readers: a call comes after the engine's last token, when no timeout runs that could end the wait.
 * @throws the engine's error, or the reason of the signal
 */
async function consumeEngine(run: EngineRun, heard: EngineProgress, control: TurnControl): Promise<void> {
  const { request, appender, throttle, output, onSaid, onLeftOut, emits = NONE } = run;
  const { watch, stop } = control;
  stop.throwIfAborted();
  for await (const event of beginEngine(run, control)) {
    request.release();
    watch.arrived();
    if (event.type === "finish") {
      heard.last = event;
      break;
    }
    if (event.type === "text") await placeItem(run, heard, event, stop);
    if (event.type === "tool_call") heard.calls.push(event);
    else if (event.type === "annotation") {
      if (!emits.has("output.annotation")) onLeftOut?.("annotations");
      else heard.annotations.push(event);
    } else if (event.type === "media") {
      stop.throwIfAborted();
      if (!output || !emits.has("output.blob")) onLeftOut?.(event.kind);
      else {
        const made = await output.take(event);
        stop.throwIfAborted();
        if (made) {
          appender.append(made);
          onSaid?.(event);
        }
      }
    } else {
      // Output after a stop may be no place to continue from.
      stop.throwIfAborted();
      const draft = toDraft(event, emits);
      if (!draft) onLeftOut?.(`reasoning ${event.type}`);
      else {
        count(run, heard, event);
        const said = withExtras(draft, event, run);
        appender.append(run.meter?.mark(said) ?? said);
        onSaid?.(event);
        if (appender.backlog > MAX_BACKLOG) await appender.settled();
        else {
          const held = throttle?.hold(stop);
          if (held) {
            // Readers need the text that the appender holds for more: while the engine waits, no more comes.
            void appender.settled();
            await held;
          }
        }
      }
    }
    stop.throwIfAborted();
    watch.waiting();
  }
  stop.throwIfAborted();
}

/** Items are stored in events of their own, so that a revision takes back one as a whole. */
async function placeItem(
  { appender }: EngineRun,
  heard: EngineProgress,
  { item: number, revises }: TextEvent,
  stop: AbortSignal,
): Promise<void> {
  const isNew = number !== heard.item?.number;
  if (number === undefined || !(isNew || revises)) return;
  await appender.settled();
  if (isNew) heard.item = { number, after: appender.head.seq };
  else if (heard.item && !stop.aborted)
    appender.append({ type: "output.rewind", to_seq: heard.item.after, reason: REVISED });
}

/** Counts the tokens of an event; sealed reasoning has none of its own. */
function count({ throttle, timing, budget }: EngineRun, heard: EngineProgress, event: WordsEvent): void {
  if (event.type === "sealed") return;
  const { type, tokens = 1 } = event;
  if (heard.counted === 0) timing?.firstChunk(tokens);
  heard.counted += tokens;
  if (type === "reasoning" || type === "summary") heard.reasoned += tokens;
  throttle?.said(tokens);
  if (type !== "summary" && (event.inputTokens !== undefined || event.cachedInputTokens !== undefined))
    budget?.counted(event.inputTokens, event.cachedInputTokens);
}

/** A function of its own: the frame of one that waits for the engine would keep the request. */
function beginEngine(
  {
    engine,
    request,
    turn,
    budget,
    media,
    tenant,
    route,
    onLeftOut,
    onWithoutField,
    traceparent,
    onAnswer,
    input,
  }: EngineRun,
  { watch, stop, over, onFinished, onResumed }: TurnControl,
): AsyncIterable<EngineEvent> {
  return engine.generate(withMost(request.get(), turn, budget?.mostOutput()), {
    ...turn,
    signal: stop,
    media: media?.(),
    tenant,
    route,
    onPiece: () => watch.progressed(),
    onFinished,
    onResumed,
    ...(onLeftOut && { onLeftOut }),
    ...(onAnswer && { onAnswer }),
    ...(input && { input: untimed(input(AbortSignal.any([stop, over])), watch) }),
    onWithoutField,
    traceparent,
  });
}

/** Input, for which no timeout of the engine runs while it is awaited. */
async function* untimed(input: AsyncIterable<InputRecord>, watch: TurnWatch): AsyncGenerator<InputRecord> {
  watch.listening(true);
  for await (const record of input) {
    watch.listening(false);
    yield record;
    watch.listening(true);
  }
  watch.listening(false);
}

/** A request for no more output than the tenant may still use. */
function withMost(request: GenerationRequest, turn: Turn, most: number | undefined): GenerationRequest {
  if (most === undefined) return request;
  const { max_output_tokens: own = Number.POSITIVE_INFINITY } = request;
  return { ...request, max_output_tokens: Math.min(own, countProduced(turn) + most) };
}

/** An engine that is busy has not begun with the request. */
function isBusy(thrown: unknown): thrown is EngineError {
  return thrown instanceof EngineError && thrown.retry === "busy";
}

function toWait(
  { waitsWhileBusy = true, random = Math.random }: EngineRun,
  { retryAfterMs }: EngineError,
  tries: number,
  leftMs: number,
): number | undefined {
  return waitsWhileBusy ? busyRetryDelayMs({ tries, random: random(), retryAfterMs, leftMs }) : undefined;
}

const NONE: ReadonlySet<string> = new Set();

/** Undefined for what a creator's node does not know and has no other form. */
function toDraft(event: WordsEvent, emits: ReadonlySet<string>): EventDraft | undefined {
  if (event.type === "sealed") {
    const { encrypted, id } = event;
    if (!emits.has("reasoning.sealed")) return undefined;
    return { type: "reasoning.sealed", encrypted, ...(id !== undefined && { id }) };
  }
  const { tokens = 1 } = event;
  if (event.type !== "summary") return toDelta(event, tokens, emits);
  const { text, part, isReasoning = false } = event;
  if (emits.has("reasoning.summary.delta"))
    return { type: "reasoning.summary.delta", text, ...(part !== undefined && { part }), tokens };
  return isReasoning ? toDelta({ type: "reasoning", text }, tokens, emits) : undefined;
}

/** A refusal is text for nodes that know no event for it. */
function toDelta(
  { type, text, inputTokens, cachedInputTokens }: TextEvent | ReasoningEvent | RefusalEvent,
  tokens: number,
  emits: ReadonlySet<string>,
): EventDraft {
  const isRefusal = type === "refusal" && emits.has("refusal.delta");
  const delta = type === "reasoning" ? "reasoning.delta" : isRefusal ? "refusal.delta" : "output.delta";
  if (inputTokens !== undefined || cachedInputTokens !== undefined) {
    return {
      type: delta,
      text,
      tokens,
      ...(inputTokens !== undefined && { input_tokens: inputTokens }),
      ...(cachedInputTokens !== undefined && { cached_input_tokens: cachedInputTokens }),
    };
  }
  return tokens === 1 ? { type: delta, text } : { type: delta, text, tokens };
}

/** Returns log probabilities as long as the run may give more. */
function boundLogprobs(
  { logprobs: room, onLeftOut }: EngineRun,
  given: TokenLogprobs | undefined,
): TokenLogprobs | undefined {
  if (!room || !given) return given;
  const { left } = room;
  for (const { top = [] } of given) room.left -= 1 + top.length;
  if (left >= 0 && room.left < 0) onLeftOut?.(`log probabilities after ${MAX_LOGPROBS}`);
  return room.left < 0 ? undefined : given;
}

function withExtras(draft: EventDraft, event: WordsEvent, run: EngineRun): EventDraft {
  if (event.type !== "text") return draft;
  const { consumed, item, final, logprobs } = event;
  const likely = withLogprobs(draft, boundLogprobs(run, logprobs), run.isJudged === true);
  if (consumed === undefined && item === undefined) return likely;
  return {
    ...likely,
    ...(consumed !== undefined && { consumed }),
    ...(item !== undefined && { item }),
    ...(final && { final }),
  };
}

/**
 * A delta with how likely its tokens were. Of a text that moderation may withdraw, or has still to clear, the numbers alone: the most likely
 * tokens are words that the model has not said, which are judged in no channel, and the tokens tell the text once more.
 */
function withLogprobs(draft: EventDraft, logprobs: TokenLogprobs | undefined, isJudged: boolean): EventDraft {
  if (draft.type !== "output.delta" || !logprobs) return draft;
  return { ...draft, logprobs: isJudged ? logprobs.map(({ logprob }) => ({ logprob })) : logprobs };
}
