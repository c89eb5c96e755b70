import {
  channelOf,
  isDelta,
  isKnownEvent,
  isTerminal,
  type KnownEvent,
  type UnknownEvent,
  type RequestedEvent,
  type Verdict,
  type Seq,
  BEYOND_LOG,
  plus,
  textsOf,
} from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import type { ClassifierFinding } from "../domain/pending-decision.ts";
import { createWindows, type Window, type Windows } from "../domain/text/windows.ts";

/** Has one classifier judge one window, for one rule. */
export type ClassifyWindow = (
  rule: RuleSet["classifiers"][number],
  subject: { readonly text: string; readonly prompt: string },
  signal: AbortSignal,
) => Promise<{ readonly kind: "judged"; readonly category?: string } | { readonly kind: "unjudged" }>;

interface LateVerdictsOptions {
  readonly ruleSet: RuleSet;
  /** The last event that an earlier process has classified. */
  readonly classifiedBefore: Seq;
  readonly classify: ClassifyWindow;
  readonly onFinding: (finding: ClassifierFinding) => void;
  /** Called when a window is done with, after its findings. */
  readonly onDone: () => void;
}

interface Running {
  readonly window: Window;
}

const UNJUDGED = { kind: "unjudged" } as const;
const WINDOW = { maxTokens: 200, overlapTokens: 50 } as const;
const MAX_UNJUDGED = 100;
const CHARS_PER_TOKEN = 4;

/**
 * Runs the classifiers over one generation: each channel is cut into windows, each window shown to each classifier that the rules name.
 * They never hold text back; only the end of a generation waits for them.
 */
export class ClassifierRuns {
  readonly #options: LateVerdictsOptions;
  readonly #windows = new Map<string, Windows>();
  readonly #running = new Set<Running>();
  readonly #stop = new AbortController();
  #prompt = "";
  #unjudged: NonNullable<Verdict["unjudged"]> = [];
  #closed: Seq;

  constructor(options: LateVerdictsOptions) {
    this.#options = options;
    this.#closed = options.classifiedBefore;
  }

  /** Every window up to this event is done with. */
  get classified(): Seq {
    let last = this.#closed;
    for (const { window } of this.#running) last = Math.min(last, plus(window.toSeq, -1));
    for (const { uncutSeq = plus(last, 1) } of this.#windows.values())
      last = Math.min(last, plus(uncutSeq, -1));
    return last;
  }

  /** True if no window is being judged. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** The first event that a classifier may still speak about. */
  get keepFromSeq(): Seq {
    let first = BEYOND_LOG;
    for (const { window } of this.#running) first = Math.min(first, window.fromSeq);
    for (const { nextFromSeq = first } of this.#windows.values()) first = Math.min(first, nextFromSeq);
    return first;
  }

  /** The windows that no classifier has judged, the first 100. */
  get unjudged(): NonNullable<Verdict["unjudged"]> {
    return this.#unjudged;
  }

  fold(event: KnownEvent | UnknownEvent): void {
    if (this.#options.ruleSet.classifiers.length === 0) return;
    if (event.type === "generation.requested") this.#prompt = promptOf(event);
    if (isKnownEvent(event) && isDelta(event)) {
      const { seq, text } = event;
      const tokens = event.type === "reasoning.summary.delta" ? estimateTokens(text) : (event.tokens ?? 1);
      const channel = channelOf(event);
      for (const window of this.#windowsOf(channel).push({ seq, text, tokens })) {
        this.#look(channel, window);
      }
    }
    // A call ends the model's turn: the text before it is judged while the call is answered, not after the answer.
    if (!isTerminal(event.type) && event.type !== "tool.call") return;
    for (const [name, windows] of this.#windows) for (const window of windows.end()) this.#look(name, window);
  }

  close(): void {
    this.#stop.abort();
  }

  #windowsOf(channel: string): Windows {
    const windows = this.#windows.get(channel) ?? createWindows(WINDOW);
    this.#windows.set(channel, windows);
    return windows;
  }

  #look(channel: string, window: Window): void {
    const { ruleSet, classifiedBefore } = this.#options;
    if (window.toSeq <= classifiedBefore) return;
    this.#closed = Math.max(this.#closed, window.toSeq);
    for (const rule of ruleSet.classifiers) void this.#ask(rule, channel, window);
  }

  async #ask(rule: RuleSet["classifiers"][number], channel: string, window: Window): Promise<void> {
    const running = { window };
    this.#running.add(running);
    const { classify, onFinding, onDone } = this.#options;
    const { signal } = this.#stop;
    const answer = await classify(rule, { text: window.text, prompt: this.#prompt }, signal).catch(
      () => UNJUDGED,
    );
    this.#running.delete(running);
    if (signal.aborted) return;
    const { fromSeq, toSeq } = window;
    if (answer.kind === "unjudged") {
      if (this.#unjudged.length < MAX_UNJUDGED) {
        this.#unjudged.push({ from_seq: fromSeq, to_seq: toSeq, classifier: rule.classifier });
      }
    } else if (answer.category !== undefined) {
      const { action } = rule;
      onFinding({ rule: rule.rule, category: answer.category, action, channel, fromSeq, toSeq });
    }
    onDone();
  }
}

/** Estimates the tokens of a text that no engine counts by itself. */
function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Returns the last prompt of the model: some classifiers judge an answer by its question. */
function promptOf({ request: { input } }: RequestedEvent): string {
  if (typeof input === "string") return input;
  const asked = input.findLast(({ role }) => role === "user");
  return asked ? textsOf(asked).join("\n") : "";
}
