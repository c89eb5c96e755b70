import type { EventDraft } from "@reprise/protocol";
import { compileRuleSet } from "@reprise/moderation";
import fc from "fast-check";
import { expect, test } from "vitest";
import { COMPLETED, delta, GATE, JudgedLog, reasoning, toolCall, toolResult } from "../../testing/log-of.ts";
import { wordRules } from "../../testing/word-rules.ts";

const WORDS = wordRules({ secret: "redact", hush: "redact", poison: "halt", doubt: "review" });
const SETS = compileRuleSet("sets", ["cards", "secrets", "personal-data", { terms: ["i know you"] }]);
const AWS = "AKIAIOSFODNN7EXAMPLE";

test.each(["Let me check.", "Your total is 12", "I know"])(
  "a tool call after half-matched text is shown at once: %s",
  (text) => {
    const log = new JudgedLog(SETS);
    log.append(reasoning("Hm. I know"), delta(text), toolCall('{"a":1}'));
    expect([log.judge.cleared, log.decisions]).toEqual([log.events.length, []]);
  },
);

test("an answer is not held back by how the reasoning before it ends", () => {
  const log = new JudgedLog(SETS);
  log.append(reasoning("… I know"));
  expect(log.judge.cleared).toBe(1);
  log.append(delta("The answer "));
  expect([log.judge.cleared, log.judge.pendingLength]).toEqual([3, 0]);
});

test("what matches as it is counts as a match where its text is settled, and is not told again when that continues", () => {
  const log = new JudgedLog(SETS);
  log.append(delta(`It is ${AWS}`));
  expect(log.decisions).toEqual([]);
  log.append(toolCall("{}"));
  expect([log.shown().joined, log.judge.cleared]).toEqual(["It is ***", log.events.length]);
  log.append(toolResult(), delta(" and that is all."), COMPLETED);
  expect(log.shown().joined).toBe("It is *** and that is all.");
  expect([log.decisions, log.judge.findings.count]).toEqual([["moderation.redacted"], 1]);
});

test("a match that continues after a settled half is held as far as it was not shown, and withdrawn with what was", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("a sec"), toolCall("{}"), toolResult());
  const before = log.judge.cleared;
  expect(before).toBe(log.events.length);
  log.append(delta("re"));
  expect(log.judge.cleared).toBe(before);
  log.append(delta("t b"));
  expect(log.shown()).toMatchObject({ text: "a *** b", joined: "a *** b" });
  expect(log.judge.cleared).toBe(log.events.length);
});

test("what is told of text that readers were shown says nothing of text that is held", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("a sec"), toolCall("{}"), toolResult());
  const shownSeq = log.judge.cleared;
  log.append(delta("ret and a doubt"), COMPLETED);
  expect(log.decisions).toEqual(["moderation.redacted", "moderation.redacted", "moderation.review"]);
  expect(log.judge.cleared).toBe(shownSeq);
  expect(log.shown(shownSeq).joined).toBe("a ***");
});

test("a channel that continues after the one that took over is not settled by it again in that turn", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("se"), reasoning("hm"));
  expect(log.judge.cleared).toBe(3);
  log.append(delta("cr"), reasoning("hm"));
  expect(log.judge.cleared).toBe(3);
  log.append(delta("et"), COMPLETED);
  expect(log.shown().joined).toBe("***");
});

test("outputs that come side by side don't settle one another", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("sec"), { type: "output.delta", text: "hello", output: 1 });
  expect(log.judge.cleared).toBe(1);
});

test("text that was settled and kept by a rewind is not held again", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("a sec"), toolCall("{}"), toolResult(), delta("ond"));
  const { seq } = log.events.findLast(({ type }) => type === "tool.result")!;
  log.append({ type: "output.rewind", to_seq: seq, reason: "retry" }, reasoning("hm"));
  expect(log.judge.cleared).toBe(log.events.length);
  log.append(delta("ret"), COMPLETED);
  expect(log.shown().text).toBe("***".padStart(5, "a "));
});

test("arguments are held for a person, and the text before them is not", () => {
  const log = new JudgedLog(WORDS);
  log.append(delta("a sec"), toolCall("doubt"));
  expect(log.judge.cleared).toBe(2);
});

const said = fc.constantFrom("secret", "hush", "a ", "sec", "hus", "ret ", "x", "h", "");
const step: fc.Arbitrary<EventDraft> = fc.oneof(
  { weight: 4, arbitrary: said.map(delta) },
  { weight: 2, arbitrary: said.map(reasoning) },
  { weight: 1, arbitrary: said.map(toolCall) },
);
const withAnswers = (drafts: readonly EventDraft[]) =>
  drafts.flatMap((draft) => (draft.type === "tool.call" ? [draft, toolResult()] : [draft]));
const steps = fc.array(step, { maxLength: 16 }).map(withAnswers);
const masked = (text: string) => text.replaceAll(/secret|hush/g, "***");
const MATCH = /secret|hush/;
const textIn = (drafts: readonly EventDraft[], type: "output.delta" | "reasoning.delta") =>
  drafts.map((draft) => (draft.type === type ? draft.text : "")).join("");

test("for any order of channels no reader is ever shown a match, every call is shown at once, and at the end just the matches are gone", () => {
  fc.assert(
    fc.property(steps, (drafts) => {
      const log = new JudgedLog(WORDS);
      let shownSeq = 0;
      for (const draft of [...drafts, COMPLETED]) {
        log.append(draft);
        const due = draft.type === "tool.call" ? log.events.length : shownSeq;
        shownSeq = log.judge.cleared;
        expect(shownSeq).toBeGreaterThanOrEqual(due);
        const seen = log.shown(shownSeq);
        for (const text of [seen.joined, seen.reasoning]) expect(text).not.toMatch(MATCH);
      }
      expect(shownSeq).toBe(log.events.length);
      const { joined, reasoning: thought } = log.shown();
      expect(joined).toBe(masked(textIn(drafts, "output.delta")));
      expect(thought).toBe(masked(textIn(drafts, "reasoning.delta")));
    }),
    { numRuns: 500 },
  );
});

test("for any order of channels a lost judge is replaced by one that decides the same, and nothing twice", () => {
  const fates = fc.infiniteStream(fc.constantFrom("continue", "restart", "restart unsettled"));
  fc.assert(
    fc.property(steps, fates, (drafts, fate) => {
      const [log, undisturbed] = [new JudgedLog(WORDS), new JudgedLog(WORDS)];
      for (const draft of [...drafts, COMPLETED]) {
        undisturbed.append(draft);
        const next = fate.next().value;
        log.store(draft);
        if (next === "restart unsettled") log.restart();
        log.settle();
        if (next === "restart") log.restart();
        log.settle();
      }
      expect(log.events).toEqual(undisturbed.events);
    }),
    { numRuns: 500 },
  );
});

test("for any order of channels a judge that fell behind decides for the log as it is then", () => {
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.boolean()), (drafts, lags) => {
      const log = new JudgedLog(WORDS, { ...GATE });
      for (const draft of [...drafts, COMPLETED]) {
        log.store(draft);
        if (lags.next().value) log.settle();
      }
      log.settle();
      expect(log.shown().joined).toBe(masked(textIn(drafts, "output.delta")));
      expect(log.judge.cleared).toBe(log.events.length);
    }),
    { numRuns: 500 },
  );
});
