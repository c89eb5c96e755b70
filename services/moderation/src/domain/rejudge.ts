import {
  decodeEvent,
  type EffectiveModeration,
  type EventDraft,
  type Finding,
  type Seq,
  plus,
  type UnixMs,
} from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import { Judge } from "./judge.ts";
import { KeptTexts } from "./text/channels.ts";

export interface Rejudgement {
  readonly judged: Seq;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** The decisions that would be appended, in order. */
  readonly decisions: readonly EventDraft[];
}

/** Judges a log as it is now by a set of rules, and returns the decisions. Changes nothing. */
export function rejudge(
  events: readonly Uint8Array[],
  { moderation, ruleSet, nowMs }: { moderation: EffectiveModeration; ruleSet: RuleSet; nowMs: UnixMs },
): Rejudgement {
  const judge = new Judge({ moderation, ruleSet });
  const kept = new KeptTexts();
  for (const payload of events) {
    const event = decodeEvent(payload);
    judge.fold(event, kept.fold(event));
  }
  const { judged } = judge;
  const decisions: EventDraft[] = [];
  for (let draft = judge.nextDecision(nowMs); draft; draft = judge.nextDecision(nowMs)) {
    decisions.push(draft);
    judge.fold({ ...draft, seq: plus(judge.judged, 1) });
  }
  return { judged, findings: judge.findings.first, findingCount: judge.findings.count, decisions };
}
