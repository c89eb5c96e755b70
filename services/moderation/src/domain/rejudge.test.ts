import { encodeEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { COMPLETED, delta, GATE, JudgedLog } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";
import { rejudge } from "./rejudge.ts";

test("new rules tell what they would withdraw of an old log, beside what is withdrawn already", () => {
  const log = new JudgedLog(wordRules({ secret: "redact" }));
  log.append(delta("a secret hu"), delta("sh b"), COMPLETED);
  const events = log.events.map((event) => encodeEvent(event.seq, event));
  const ruleSet = wordRules({ hush: "redact" });
  const { decisions, findingCount, judged } = rejudge(events, { moderation: GATE, ruleSet, nowMs: 0 });
  expect([findingCount, judged]).toEqual([1, log.events.length]);
  expect(decisions).toMatchObject([{ from_seq: 2, to_seq: 4, rule: "hush" }]);
  for (const draft of decisions) log.store(draft);
  expect(log.shown().text).not.toMatch(/secret|hush/);
});

test("what an earlier decision has left of its events is judged like any other text", () => {
  const log = new JudgedLog(wordRules({ secret: "redact" }));
  log.append(delta("a secret and hush"), COMPLETED);
  const events = log.events.map((event) => encodeEvent(event.seq, event));
  const { decisions } = rejudge(events, {
    moderation: GATE,
    ruleSet: wordRules({ hush: "redact" }),
    nowMs: 0,
  });
  expect(decisions).toMatchObject([{ from_seq: 2, to_seq: 2, replacement: "a *** and ***" }]);
});

test("rules that find nothing new decide nothing", () => {
  const rules = wordRules({ secret: "redact" });
  const log = new JudgedLog(rules);
  log.append(delta("a secret b"), COMPLETED);
  const events = log.events.map((event) => encodeEvent(event.seq, event));
  expect(rejudge(events, { moderation: GATE, ruleSet: rules, nowMs: 0 }).decisions).toEqual([]);
});
