import { encodeEvent, asUnixMs } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { COMPLETED, delta, GATE, JudgedLog } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";
import { rejudge } from "./rejudge.ts";

test("new rules tell what they would withdraw of an old log, beside what is withdrawn already", () => {
  const log = new JudgedLog(wordRules({ secret: "redact" }));
  log.append(delta("a secret hu"), delta("sh b"), COMPLETED);
  const events = log.events.map((event) => encodeEvent(event.seq, event));
  const ruleSet = wordRules({ hush: "redact" });
  const { decisions, findingCount, judged } = rejudge(events, {
    moderation: GATE,
    ruleSet,
    nowMs: asUnixMs(0),
  });
  expect([findingCount, judged]).toEqual([1, log.events.length]);
  expect(decisions).toMatchObject([{ from_seq: 2, to_seq: 4, rule: "hush" }]);
  for (const draft of decisions) log.store(draft);
  expect(log.shown().text).not.toMatch(/secret|hush/);
});

test.each([
  ["from within it", "secret and", "it is *** that is all", GATE.replacement],
  ["from before a reviewer's words", "is secret", "it *** SURPRISE and that is all", "SURPRISE"],
])(
  "a match that reaches into an earlier mask %s takes no clean text with it",
  (_name, word, expected, mark) => {
    const log = new JudgedLog(wordRules({ secret: "redact" }), { ...GATE, replacement: mark });
    log.append(delta("it is"), delta(" se"), delta("cret and that is all"), COMPLETED);
    expect(log.shown().text).toBe(`it is ${mark} and that is all`);
    const events = log.events.map((event) => encodeEvent(event.seq, event));
    const { decisions } = rejudge(events, {
      moderation: GATE,
      ruleSet: wordRules({ [word]: "redact" }),
      nowMs: asUnixMs(0),
    });
    for (const draft of decisions) log.store(draft);
    expect(log.shown().text).toBe(expected);
  },
);

test("a log that was judged before loses by new rules what they find, and nothing else, however it is cut into events", () => {
  const texts = fc.array(fc.stringMatching(/^(ab|ba|cd|bc|x| ){1,4}$/), { minLength: 1, maxLength: 6 });
  const property = fc.property(texts, (parts) => {
    const log = new JudgedLog(wordRules({ ab: "redact" }), { ...GATE, mode: "retract" });
    log.append(...parts.map(delta), COMPLETED);
    const events = log.events.map((event) => encodeEvent(event.seq, event));
    const ruleSet = wordRules({ cd: "redact" });
    const { decisions } = rejudge(events, { moderation: GATE, ruleSet, nowMs: asUnixMs(0) });
    for (const draft of decisions) log.store(draft);
    expect(log.shown().text).toBe(parts.join("").replaceAll(/ab|cd/g, "***"));
  });
  fc.assert(property, { seed: 20_261_122, numRuns: 1_000 });
});
