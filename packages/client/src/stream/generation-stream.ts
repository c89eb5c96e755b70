import {
  type Annotation,
  type Generation,
  type GenerationStatus,
  RepriseError,
  type Usage,
} from "@reprise/protocol/wire";
import { readConnection } from "./connection.ts";
import { abortReason, createAbortError } from "../retry/deadline.ts";
import type { HttpSettings } from "../http/http.ts";
import { type GenerationOutcome, toOutcome } from "./outcome.ts";
import {
  nextResume,
  type ResumeContext,
  type ResumeEffect,
  type ResumeInput,
  startResume,
} from "./resume-state.ts";
import { ReadingTimings } from "./reading-timings.ts";
import type { RetryDelay } from "../retry/retry-policy.ts";
import { waitForRetry } from "../retry/retry-wait.ts";
import { planReviewWait } from "./review-wait.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";
import type { StreamSource } from "./stream-source.ts";
import { isFinal, ReaderTranscript } from "../transcript/reader-transcript.ts";
import { ToolAnswers, type ToolCall, type ToolHandlers } from "./tool-answers.ts";

/** Text that a person is asked about. */
export interface PendingReview {
  readonly reviewId: string;
  /** When the policy decides in a person's place. RFC 3339, UTC. */
  readonly expiresAt: string;
}

type FinalEffect = Exclude<ResumeEffect, { type: "deliver" }>;

/**
 * The events of one generation in the order of its log, each exactly once, over as many connections as it takes. Lazy: no request is sent before the first
 * event, or `done()`, is asked for. Can be iterated once. The loop ends only after the terminal event and moderation's events after it: broken connections
 * are repaired, and errors that can't be repaired are thrown. Leaving the loop closes the connection and cancels nothing.
 *
 * The properties show the events handed out so far, and stay readable when the stream has failed: `text` is then the partial text, and `cursor` is the
 * place from which `stream(id, { after })` continues.
 *
 * @throws RepriseError from the loop: `connection_lost` when the retries are used up, with the last failure as its cause; `protocol_violation`; or the
 *   server's error, such as `unauthenticated` or `cursor_expired`. After `events_lost` and `cursor_invalid` the events handed out are no longer part of the
 *   log, and only a stream without a cursor can follow it. The error that one of the `tools` throws. The signal's reason when that was aborted.
 */
export class GenerationStream implements AsyncIterable<StreamEvent> {
  readonly #settings: HttpSettings;
  readonly #source: StreamSource;
  readonly #transcript = new ReaderTranscript();
  /** The last event when the platform was asked last what was decided. */
  #askedAt: string | undefined;
  /** Number of requests in a row after that event while no review was open; -1 for never. */
  #asked = -1;
  /** Aborted when the stream ends early: by the app's signal, or by the app leaving its loop. */
  readonly #ending = new AbortController();
  readonly #outcome: Promise<GenerationOutcome>;
  readonly #tools: ToolAnswers | undefined;
  readonly #timings: ReadingTimings | undefined;
  /** Error that a tool has thrown. */
  #toolFailure: { readonly error: unknown } | undefined;
  #resolve!: (outcome: GenerationOutcome) => void;
  #reject!: (reason: unknown) => void;
  #state;
  #id: string | undefined;
  #wasIterated = false;
  #wasLeft = false;

  /** Use `client.generations.stream` or `.run`. */
  constructor(settings: HttpSettings, source: StreamSource) {
    this.#settings = settings;
    this.#source = source;
    this.#id = source.id;
    this.#state = startResume(source.after);
    if (source.report) this.#timings = new ReadingTimings(() => settings.runtime.now());
    if (source.tools) this.#tools = this.#createTools(source.tools);
    this.#outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // An app that iterates gets the error there, and need not ask for the outcome too.
    this.#outcome.catch(() => {});
  }

  /** The generation's id. Undefined on a stream from `run` until the server has answered. */
  get id(): string | undefined {
    return this.#id;
  }

  /**
   * The text of output 0 to show: with rewinds applied, and with the replacements of text that moderation has withdrawn. On a stream that began at a cursor:
   * only the text after it.
   */
  get text(): string {
    return this.#transcript.text;
  }

  /** The model's refusal, in the form of `text`: "" if there is none. */
  get refusal(): string {
    return this.#transcript.refusal;
  }

  /** Where something in the text comes from, as `text` has it. */
  get annotations(): readonly Annotation[] {
    return this.#transcript.annotations;
  }

  /** The text after the last tool call, in the form of `text`: it has the form that `response_format` asks for. */
  get answer(): string {
    return this.#transcript.answer;
  }

  /**
   * The position right after the event that was handed out last; within the loop, after the current event. Store it when that event has been handled, and a
   * later `stream(id, { after })` continues with exactly the next one. Opaque. Undefined before the first event; on a stream that began at a cursor, that
   * cursor.
   */
  get cursor(): string | undefined {
    return this.#state.cursor;
  }

  /** "queued" until an event says otherwise. */
  get status(): GenerationStatus {
    const { status } = this.#transcript;
    const beganLater = this.#source.after !== undefined && this.#state.lastSeq !== undefined;
    return status === "queued" && beganLater ? "in_progress" : status;
  }

  /** Usage from the terminal event; before it, the sum of the events handed out. */
  get usage(): Usage {
    return this.#transcript.usage;
  }

  /** The tool calls among what was handed out that still wait for `generations.submitToolResult`. */
  get pendingToolCalls(): readonly ToolCall[] {
    return this.#transcript.pendingCalls;
  }

  /**
   * The undecided reviews among the events handed out: text under review may still be replaced, also after the end. A stream with `awaitReviews` waits for
   * that.
   */
  get pendingReviews(): readonly PendingReview[] {
    return [...this.#transcript.reviews.values()].map(({ review_id: reviewId, expires_at: expiresAt }) => ({
      reviewId,
      expiresAt,
    }));
  }

  /** Number of connections opened, or tried, after the first. */
  get reconnects(): number {
    return this.#state.reconnects;
  }

  /**
   * Ends the generation, for all its readers; its last event then comes as any other. Resolves when the end is stored. Works at any
   * time, also before the first event and after the loop was left, and is idempotent.
   */
  async cancel(options: { reason?: string } = {}): Promise<Generation> {
    this.#id ??= await this.#source.identify();
    return this.#source.cancel(this.#id, options);
  }

  /**
   * Resolves with the outcome of the generation. Reads the stream itself unless the app iterates it, before or after this call.
   * @throws what the loop throws; an AbortError when the loop was left before the terminal event
   */
  async done(): Promise<GenerationOutcome> {
    if (!this.#wasIterated) {
      const events = this[Symbol.asyncIterator]();
      while (!(await events.next()).done);
    }
    return this.#outcome;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<StreamEvent, void, undefined> {
    if (this.#wasIterated) throw new TypeError("A GenerationStream can be iterated once; open another.");
    this.#wasIterated = true;
    const events = this.#read();
    const iterator: AsyncIterableIterator<StreamEvent, void, undefined> = {
      next: () => events.next(),
      // Ends a `next` that is still waiting too, which a generator's own `return` would wait for.
      return: async () => {
        this.#leave();
        return events.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  async *#read(): AsyncGenerator<StreamEvent, void, undefined> {
    const { signal } = this.#source;
    const onAbort = (): void => this.#ending.abort(signal && abortReason(signal));
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        const effect = yield* this.#readConnection();
        if (effect.type === "fail") throw effect.error;
        const delay = effect.type === "end" ? await this.#planReviewWait() : effect.delay;
        if (!delay) break;
        const woken = await waitForRetry(delay, this.#settings.runtime, this.#ending.signal);
        if (woken) this.#next({ type: "woken" });
        if (effect.type === "end") this.#next({ type: "reopened" });
      }
      this.#resolve(await this.#findOutcome());
    } catch (thrown) {
      const error = this.#toolFailure ? this.#toolFailure.error : thrown;
      this.#reject(error);
      if (!this.#wasLeft) throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      // The results of tools that still run are not needed any more.
      this.#ending.abort();
      if (this.#timings && this.#id !== undefined)
        this.#source.report?.(this.#id, this.#timings.toReport(this.reconnects));
    }
  }

  /** Hands out what one connection brings. Returns what to do after it. */
  async *#readConnection(): AsyncGenerator<StreamEvent, FinalEffect, undefined> {
    const { signal } = this.#ending;
    const { cursor } = this.#state;
    const request = this.#source.request(this.#id, cursor === this.#source.after ? undefined : cursor);
    this.#timings?.requested();
    for await (const input of readConnection(this.#settings, request, signal)) {
      if (input.type === "caught_up") {
        // Not before: a replay may bring a call together with its answer.
        this.#tools?.answer(this.pendingToolCalls);
        continue;
      }
      if ("generation" in input) {
        this.#id ??= input.generation ?? undefined;
        this.#timings?.opened();
      }
      const effect = this.#next(input);
      if (!effect) continue;
      if (effect.type !== "deliver") return effect;
      this.#transcript.apply(effect.event);
      this.#timings?.read(effect.event);
      yield effect.event;
      if (signal.aborted) throw abortReason(signal);
    }
    throw new TypeError("A connection ended without saying how.");
  }

  #next(input: ResumeInput): ResumeEffect | undefined {
    const { state, effect } = nextResume(this.#state, input, this.#context());
    this.#state = state;
    return effect;
  }

  #context(): ResumeContext {
    const { runtime, retry: policy } = this.#settings;
    return { nowMs: runtime.now(), random: runtime.random(), policy };
  }

  /** @returns undefined if there is nothing to await after the end */
  async #planReviewWait(): Promise<RetryDelay | undefined> {
    if (!this.#source.awaitReviews || this.#id === undefined) return undefined;
    const record = await this.#source.get(this.#id, this.#ending);
    const { cursor } = this;
    const further = cursor === this.#askedAt ? this.#asked + 1 : 0;
    this.#askedAt = cursor;
    this.#asked = record.reviews.length > 0 ? -1 : further;
    return planReviewWait(record, { ...this.#context(), cursor, asked: Math.max(0, this.#asked) });
  }

  /** After a 204 no event has told how the generation ended, so the platform is asked. */
  async #findOutcome(): Promise<GenerationOutcome> {
    if (!isFinal(this.#transcript.status) && this.#id !== undefined) {
      const record = await this.#source.get(this.#id, this.#ending);
      if (isFinal(record.status)) this.#transcript.end(record.status, record);
    }
    if (isFinal(this.#transcript.status)) return toOutcome(this.#transcript, this.cursor);
    throw new RepriseError("protocol_violation", "The stream has ended, but its generation has not.");
  }

  #createTools(handlers: ToolHandlers): ToolAnswers {
    const { signal } = this.#ending;
    return new ToolAnswers({
      handlers,
      signal,
      submit: async (result) => {
        this.#id ??= await this.#source.identify();
        return this.#source.submitToolResult(this.#id, result, { signal });
      },
      onFailure: (error) => {
        this.#toolFailure ??= { error };
        this.#ending.abort(error);
      },
    });
  }

  #leave(): void {
    this.#wasLeft = true;
    const reason = createAbortError("The stream was left before its end.");
    if (isFinal(this.#transcript.status)) this.#resolve(toOutcome(this.#transcript, this.cursor));
    else this.#reject(reason);
    this.#ending.abort(reason);
  }
}
