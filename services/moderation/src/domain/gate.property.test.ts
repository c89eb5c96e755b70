import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  textOf,
  Withdrawals,
} from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  annotation,
  COMPLETED,
  delta,
  JudgedLog,
  reasoning,
  toolCall,
  toolResult,
} from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";

const RULES = wordRules({ secret: "redact", hush: "redact", poison: "halt", doubt: "review" });
const MATCH = /secret|hush|poison|doubt/;
const PARTS = ["secret", "hush", "a ", "sec", "hus", "ret ", "x", "h", "poi", "son", "dou", "bt ", "doubt"];

const said = fc.constantFrom(...PARTS);
/** The next event to append; undefined for a person's answer to the oldest review. */
const step: fc.Arbitrary<EventDraft | undefined> = fc.oneof(
  { weight: 5, arbitrary: said.map(delta) },
  { weight: 2, arbitrary: said.map(reasoning) },
  { weight: 1, arbitrary: fc.tuple(said, said).map(([name, text]) => ({ ...toolCall(text), name })) },
  { weight: 1, arbitrary: said.map((text) => ({ type: "refusal.delta" as const, text })) },
  { weight: 1, arbitrary: said.map((text) => ({ type: "reasoning.summary.delta" as const, text })) },
  {
    weight: 1,
    arbitrary: fc.tuple(said, said).map(([title, url]) => annotation({ title, url: `https://${url}` })),
  },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

/** All texts of the first events of a log as a reader gets them who knows all of it: channel by channel, and what is told of withdrawals. */
function textsShown({ events }: JudgedLog, upTo: number): string[] {
  const withdrawals = new Withdrawals();
  for (const event of events) withdrawals.apply(event);
  const [texts, others]: [Record<string, string>, string[]] = [{}, []];
  for (const { seq, ...draft } of events.slice(0, upTo)) {
    const event = decodeEvent(withdrawals.project(seq, encodeEvent(seq, draft))) as KnownEvent;
    if ("text" in event) texts[event.type] = `${texts[event.type] ?? ""}${event.text}`;
    if (event.type === "tool.call") others.push(event.name, event.arguments);
    if (event.type === "output.annotation") others.push(textOf(event));
    if ("replacement" in event) others.push(`${event.replacement}`);
  }
  return [...Object.values(texts), ...others];
}

const answerTo = (log: JudgedLog): EventDraft[] =>
  log.judge.reviews.open.slice(0, 1).map(({ reviewId }) => ({
    type: "moderation.reviewed",
    review_id: reviewId,
    decision: "edit",
    reviewer: "ann",
    replacement: "#",
  }));

test("for any texts, calls, halts and reviews a gate shows no match and nothing undecided, and in the end everything", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 18 }), (steps) => {
      const [log, other] = [new JudgedLog(RULES), new JudgedLog(RULES)];
      let shownSeq = 0;
      const append = (draft: EventDraft) => {
        log.append(draft);
        other.store(draft);
        other.restart();
        other.settle();
        expect(other.events).toEqual(log.events);
        expect(log.judge.cleared).toBeGreaterThanOrEqual(shownSeq);
        shownSeq = log.judge.cleared;
        expect(textsShown(log, shownSeq).filter((text) => MATCH.test(text))).toEqual([]);
      };
      for (const draft of [...steps, COMPLETED])
        for (const one of draft ? [draft] : answerTo(log)) {
          append(one);
          if (one.type === "tool.call") append(toolResult());
        }
      for (let answer = answerTo(log); answer.length > 0; answer = answerTo(log)) append(answer[0]!);
      expect(shownSeq).toBe(log.events.length);
    }),
    { numRuns: 300 },
  );
});
