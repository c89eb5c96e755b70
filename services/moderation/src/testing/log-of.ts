import {
  decodeEvent,
  type EffectiveModeration,
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  Transcript,
  Withdrawals,
  asUnixMs,
} from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import { Judge } from "../domain/judge.ts";
import { KeptTexts } from "../domain/text/channels.ts";

export const GATE: EffectiveModeration = {
  mode: "gate",
  rule_set: "words",
  replacement: "***",
  on_unavailable: { answer: "fail_closed", after_ms: 5_000 },
  review: { answer: "redact", after_ms: 60_000 },
};

export const STARTED: EventDraft = { type: "generation.started", attempt: 1, worker: "w", model: "sim" };
export const COMPLETED: EventDraft = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 0, output_tokens: 0 },
};

export function delta(text: string): EventDraft {
  return { type: "output.delta", text };
}

export function reasoning(text: string): EventDraft {
  return { type: "reasoning.delta", text };
}

export function toolCall(text: string): EventDraft {
  return { type: "tool.call", call_id: "call", name: "look_up", arguments: text };
}

export function annotation(says: { url: string; title?: string; quote?: string }): EventDraft {
  return { type: "output.annotation", kind: "url", ...says };
}

export function toolResult(): EventDraft {
  return { type: "tool.result", call_id: "call", output: null };
}

/** A log in memory, and a judge that moderates it as the service does, with nothing in between. */
export class JudgedLog {
  readonly events: KnownEvent[] = [];
  readonly #moderation: EffectiveModeration;
  readonly #rules: RuleSet;
  judge: Judge;
  #kept = new KeptTexts();

  constructor(rules: RuleSet, moderation: EffectiveModeration = GATE) {
    this.#rules = rules;
    this.#moderation = moderation;
    this.judge = new Judge({ moderation, ruleSet: rules });
    this.store(STARTED);
  }

  /** Another process stores an event; the judge has not seen it yet. */
  store(draft: EventDraft): KnownEvent {
    const event = { ...draft, seq: this.events.length + 1 } as KnownEvent;
    this.events.push(event);
    return event;
  }

  /** The judge reads what is stored, and stores what it decides, until both are in line. */
  settle(): void {
    for (;;) {
      for (const event of this.events.slice(this.judge.judged === -1 ? 0 : this.judge.judged))
        this.#fold(event);
      const draft = this.judge.nextDecision(asUnixMs(0));
      if (!draft) return;
      this.store(draft);
    }
  }

  /** The judge is lost, and another one reads the log from its beginning. */
  restart(): void {
    this.judge = new Judge({ moderation: this.#moderation, ruleSet: this.#rules });
    this.#kept = new KeptTexts();
  }

  append(...drafts: EventDraft[]): void {
    for (const draft of drafts) {
      this.store(draft);
      this.settle();
    }
  }

  /** Returns the text for a new reader that may see everything up to an event. */
  shown(upTo = this.events.length): { text: string; joined: string; reasoning: string } {
    const withdrawals = new Withdrawals();
    for (const event of this.events) withdrawals.apply(event);
    const transcript = new Transcript();
    let joined = "";
    let thought = "";
    for (const event of this.events.slice(0, upTo)) {
      const payload = withdrawals.project(event.seq, encodeEvent(event.seq, event));
      const seen = decodeEvent(payload) as KnownEvent;
      if (seen.type === "output.delta") joined += seen.text;
      if (seen.type === "reasoning.delta") thought += seen.text;
      transcript.apply(seen);
    }
    return { text: transcript.text, joined, reasoning: thought };
  }

  /** The decisions of moderation, without their places. */
  get decisions(): string[] {
    return this.events.map(({ type }) => type).filter((type) => type.startsWith("moderation."));
  }

  #fold(event: KnownEvent): void {
    this.judge.fold(event, this.#kept.fold(event));
  }
}
