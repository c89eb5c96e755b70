import type { EventDraft } from "@reprise/protocol";
import { expect, test } from "vitest";
import { annotation, COMPLETED, delta, GATE, JudgedLog, reasoning, toolCall } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";

const RULES = wordRules({ secret: "redact", poison: "halt", doubt: "review" });
const refusal = (text: string): EventDraft => ({ type: "refusal.delta", text });
const summary = (text: string): EventDraft => ({ type: "reasoning.summary.delta", text });

/** Events that can each hold a text in a channel of its own. */
const SAYS = [
  ["refusal", refusal],
  ["reasoning_summary", summary],
  ["annotation", (text: string) => annotation({ url: "https://a/", title: text })],
  ["reasoning", reasoning],
  ["tool", toolCall],
] as const;

const decision = (log: JudgedLog) => log.events.find(({ type }) => type.startsWith("moderation."));

test.each(SAYS)("%s: what matches is redacted in its own channel, and cleared then", (channel, says) => {
  const log = new JudgedLog(RULES);
  log.append(delta("a "), says("a secret"));
  expect(decision(log)).toMatchObject({
    type: "moderation.redacted",
    channel,
    from_seq: 3,
    to_seq: 3,
    rule: "secret",
  });
  expect(log.judge.cleared).toBe(log.events.length);
});

test.each(SAYS)("%s: a match that halts ends all text from there on", (channel, says) => {
  const log = new JudgedLog(RULES);
  log.append(delta("a "), says("poison"), delta("b"));
  expect(decision(log)).toMatchObject({ type: "moderation.halted", from_seq: 3 });
  expect([channel, log.shown().text]).toEqual([channel, "a "]);
});

test.each(SAYS)(
  "%s: a gate holds what a person is asked about, and what follows, until that is decided",
  (channel, says) => {
    const log = new JudgedLog(RULES);
    log.append(delta("a "), says("doubt"), delta("b"));
    expect(decision(log)).toMatchObject({ type: "moderation.review", channel, from_seq: 3, to_seq: 3 });
    expect(log.judge.cleared).toBe(2);
    const [review] = log.judge.reviews.open;
    log.append({
      type: "moderation.reviewed",
      review_id: review!.reviewId,
      decision: "edit",
      reviewer: "ann",
      replacement: "#",
    });
    expect(log.events.at(-1)).toMatchObject({ type: "moderation.redacted", channel, replacement: "#" });
    expect(log.judge.cleared).toBe(log.events.length);
  },
);

test.each(SAYS)("%s: in retract it is decided alike, and in observe nothing is", (channel, says) => {
  const retract = new JudgedLog(RULES, { ...GATE, mode: "retract" });
  retract.append(delta("a "), says("secret"), says("poison"));
  expect([channel, retract.decisions]).toEqual([channel, ["moderation.redacted", "moderation.halted"]]);
  const observe = new JudgedLog(RULES, { ...GATE, mode: "observe" });
  observe.append(delta("a "), says("secret"), says("poison"));
  expect(observe.decisions).toEqual([]);
  expect(observe.judge.findings.first.map(({ rule }) => rule)).toEqual(["secret", "poison"]);
});

test("a refusal and a summary are texts that continue: a match may lie across their events, with others between them", () => {
  const log = new JudgedLog(RULES);
  log.append(summary("sec"), reasoning("x"), summary("ret"), refusal("sec"), delta("y"), refusal("ret"));
  expect(log.events.filter(({ type }) => type === "moderation.redacted")).toMatchObject([
    { channel: "reasoning_summary", from_seq: 2, to_seq: 4 },
    { channel: "refusal", from_seq: 6, to_seq: 8 },
  ]);
});

test("the model thinks, then answers: half a match in a summary does not hold back the text, nor one in a refusal the other way", () => {
  const log = new JudgedLog(RULES);
  log.append(summary("sec"));
  expect(log.judge.cleared).toBe(1);
  log.append(refusal("No"));
  expect(log.judge.cleared).toBe(3);
});

test("an annotation is judged whole and by itself: no match lies across two, and none is left of one that matches", () => {
  const log = new JudgedLog(RULES);
  log.append(annotation({ url: "https://sec" }), annotation({ url: "ret" }));
  expect(log.decisions).toEqual([]);
  log.append(annotation({ url: "https://secret", title: "clean", quote: "clean" }));
  expect(log.events.at(-1)).toMatchObject({
    type: "moderation.redacted",
    channel: "annotation",
    replacement: GATE.replacement,
  });
});

test("the escapes of an address are undone", () => {
  const log = new JudgedLog(RULES);
  log.append(annotation({ url: "https://a/?q=%73ecret%FF" }), COMPLETED);
  expect(log.decisions).toEqual(["moderation.redacted"]);
});
