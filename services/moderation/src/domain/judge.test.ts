import { encodeEvent, type EventDraft, Withdrawals, asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { compileRuleSet } from "@reprise/moderation";
import { expect, test } from "vitest";
import { COMPLETED, delta, GATE, JudgedLog } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";

const RULES = wordRules({ secret: "redact", hush: "redact", poison: "halt", doubt: "review", odd: "flag" });

function chunks(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...new Set(cuts.map((cut) => cut % (text.length + 1))), text.length].toSorted(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, i) => text.slice(at[i], end));
}

const words = fc.array(fc.constantFrom("secret", "hush", "odd", "a ", "sec", "hus", "ret ", "x"), {
  maxLength: 12,
});
const masked = (text: string) => text.replaceAll(/secret|hush/g, "***");

test("what is cleared never holds a match, nor the beginning of one, and at the end all else is cleared", () => {
  fc.assert(
    fc.property(words, fc.array(fc.nat(1_000), { maxLength: 12 }), (parts, cuts) => {
      const text = parts.join("");
      const log = new JudgedLog(RULES);
      let cleared = 0;
      for (const draft of [...chunks(text, cuts).map(delta), COMPLETED]) {
        log.append(draft);
        expect(log.judge.cleared).toBeGreaterThanOrEqual(cleared);
        cleared = log.judge.cleared;
        const { joined } = log.shown(cleared);
        expect(masked(text).startsWith(joined)).toBe(true);
      }
      expect(log.shown()).toMatchObject({ text: masked(text), joined: masked(text) });
      expect(cleared).toBe(log.events.length);
    }),
    { numRuns: 500 },
  );
});

test("a judge that is lost at any moment is replaced by one that decides the same, and nothing twice", () => {
  fc.assert(
    fc.property(
      words,
      fc.array(fc.nat(1_000), { maxLength: 12 }),
      fc.infiniteStream(fc.constantFrom("go on", "restart", "restart unsettled")),
      (parts, cuts, fates) => {
        const text = parts.join("");
        const [log, undisturbed] = [new JudgedLog(RULES), new JudgedLog(RULES)];
        for (const draft of [...chunks(text, cuts).map(delta), COMPLETED]) {
          undisturbed.append(draft);
          const fate = fates.next().value;
          log.store(draft);
          if (fate === "restart unsettled") log.restart();
          log.settle();
          if (fate === "restart") log.restart();
          log.settle();
        }
        expect(log.events).toEqual(undisturbed.events);
      },
    ),
    { numRuns: 500 },
  );
});

test("a judge that is late decides for the log as it is then", () => {
  const lateness = fc.infiniteStream(fc.boolean());
  fc.assert(
    fc.property(words, fc.array(fc.nat(1_000), { maxLength: 12 }), lateness, (parts, cuts, settles) => {
      const text = parts.join("");
      const log = new JudgedLog(RULES);
      for (const draft of [...chunks(text, cuts).map(delta), COMPLETED]) {
        log.store(draft);
        if (settles.next().value) log.settle();
      }
      log.settle();
      expect(log.shown().text).toBe(masked(text));
    }),
    { numRuns: 500 },
  );
});

test("a halt withdraws the text from the match on, and keeps the text before it", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a secret, po"), delta("ison and more"), delta("late"));
  expect(log.shown()).toMatchObject({ text: "a ***, ***", joined: "a ***, ***" });
  expect([log.judge.halted, log.judge.ended]).toEqual([true, false]);
});

test("in the mode observe a judge finds matches and decides nothing", () => {
  const log = new JudgedLog(RULES, { ...GATE, mode: "observe" });
  log.append(delta("a secret poison"), COMPLETED);
  expect(log.decisions).toEqual([]);
  expect(log.judge.findings.first.map(({ rule }) => rule)).toEqual(["secret", "poison"]);
});

test("a range takes in what an earlier one of the same events has withdrawn", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a secret b se"), delta("cret c hu"), delta("sh d"));
  expect(log.shown()).toMatchObject({ text: "a *** b *** c *** d", joined: "a *** b *** c *** d" });
});

test("of events that were withdrawn together none is cleared while one of them is pending: the first tells what is left of all", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a se"), delta("cret hu"));
  expect([log.judge.cleared, log.shown().text]).toEqual([1, "a *** hu"]);
  log.append(delta("g"));
  expect([log.judge.cleared, log.shown().text]).toEqual([log.events.length, "a *** hug"]);
});

test("where each match begins in the event that the last one ended in, what is left is not told again and again", () => {
  const told = (count: number) => {
    const log = new JudgedLog(RULES);
    log.append(delta("se"), ...Array.from({ length: count }, () => delta("cret se")), delta("cret"));
    expect(log.shown().text).toBe("***".concat(" ***".repeat(count)));
    return log.events.map((event) => ("replacement" in event ? event.replacement! : "")).join("").length;
  };
  expect(told(800) / told(200)).toBeLessThan(5);
});

test("a judge that comes when thousands of matches wait decides them all", () => {
  const log = new JudgedLog(RULES);
  for (let at = 0; at < 4_000; at++) log.store(delta("a secret. "));
  log.store(COMPLETED);
  log.settle();
  expect([log.shown().text, log.judge.cleared]).toEqual(["a ***. ".repeat(4_000), log.events.length]);
});

test("what is found is not cleared before the log says so", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a "));
  const found = log.store(delta("secret b"));
  log.judge.fold(found);
  expect([log.judge.judged, log.judge.cleared]).toEqual([3, 2]);
  log.settle();
  expect(log.judge.cleared).toBe(4);
});

test("text before a rewind continues after it", () => {
  const log = new JudgedLog(RULES);
  log.append(
    delta("sec"),
    delta("ond hush"),
    { type: "output.rewind", to_seq: asSeq(2), reason: "worker_lost" },
    delta("ret"),
  );
  expect(log.shown().text).toBe("***");
  expect(log.decisions).toEqual(["moderation.redacted", "moderation.redacted"]);
});

test("in a gate a review holds what comes after it until it is decided", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a "), delta("dou"), delta("bt b"), delta(" c"));
  expect([log.decisions, log.judge.cleared]).toEqual([["moderation.review"], 2]);
  const { reviewId } = log.judge.reviews.open[0]!;
  log.append({ type: "moderation.reviewed", review_id: reviewId, decision: "approve", reviewer: "r" });
  expect([log.judge.cleared, log.shown().text]).toEqual([log.events.length, "a doubt b c"]);
});

test.each([
  ["edit", "a [fine] b c", false],
  ["halt", "a ***", true],
] as const)("a reviewer's %s is carried out", (decision, text, halted) => {
  for (const restart of [false, true]) {
    const log = new JudgedLog(RULES, { ...GATE, mode: "retract" });
    log.append(delta("a "), delta("dou"), delta("bt b"), delta(" c"));
    expect(log.judge.cleared).toBe(log.events.length);
    const { reviewId } = log.judge.reviews.open[0]!;
    if (restart) log.restart();
    const replacement = decision === "edit" ? { replacement: "[fine]" } : {};
    log.append({ type: "moderation.reviewed", review_id: reviewId, decision, reviewer: "r", ...replacement });
    expect([log.shown().text, log.judge.halted, log.judge.reviews.open]).toEqual([text, halted, []]);
  }
});

test("what only a classifier found stays withdrawn when a later match lies in the same events", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("nasty "), delta("words se"));
  log.judge.report({
    rule: "c",
    category: "hate",
    action: "redact",
    channel: "0",
    fromSeq: asSeq(2),
    toSeq: asSeq(3),
  });
  log.settle();
  log.restart();
  log.append(delta("cret on"));
  expect(log.shown().text).toBe("*** on");
});

test("escapes in the arguments of a tool call hide nothing, and hold nothing together", () => {
  const rules = compileRuleSet("terms", [{ terms: ["secret word"] }, "cards"]);
  const log = new JudgedLog(rules);
  const shown = (text: string) => {
    log.append({ type: "tool.call", call_id: `${log.events.length}`, name: "f", arguments: text });
    const last = log.events.at(-1)!;
    return last.type === "moderation.redacted" ? last.replacement : text;
  };
  expect(shown(String.raw`{"a":"x\nsecret word"}`)).toBe(String.raw`{"a":"x\n***"}`);
  expect(shown(String.raw`{"a":"\u0073ecret\nword\u0021"}`)).toBe(String.raw`{"a":"***\u0021"}`);
  expect(shown(String.raw`{"a":"\t4111\u00201111 1111 1111"}`)).toBe(String.raw`{"a":"\t***"}`);
  expect(shown(String.raw`{"a":"C:\\secret word\\"}`)).toBe(String.raw`{"a":"C:\\***\\"}`);
  expect(log.judge.findings.count).toBe(4);
});

const found = (shown: { joined: string }) => /doubt|poison|secret/.exec(shown.joined)?.[0];
const ANSWER = { type: "moderation.reviewed", review_id: "rev_3", reviewer: "ann" } as const;

test("what a person replaces brings nothing back of what a halt has withdrawn in the same event", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a dou"), delta("bt poison"));
  const { review_id } = log.events.find(({ type }) => type === "moderation.review") as { review_id?: string };
  log.append({ ...ANSWER, review_id: review_id!, decision: "edit", replacement: "#" });
  expect(found(log.shown())).toBeUndefined();
  expect(log.shown().joined).toMatch(/^a #/);
});

test("what an early decision has left standing is sent to no reader once a later one withdraws it", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("secret poison"));
  expect(log.decisions).toEqual(["moderation.redacted", "moderation.halted"]);
  const withdrawals = new Withdrawals();
  for (const event of log.events) withdrawals.apply(event);
  const told = log.events.map((event) =>
    Buffer.from(withdrawals.project(event.seq, encodeEvent(event.seq, event as EventDraft))).toString(),
  );
  expect(told.filter((one) => one.includes(" poison"))).toEqual([]);
});

test("what was told of rewound text together with kept text is told again, without it", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a se"), delta("cret"), delta(" hus"), delta("h and se"));
  log.append({ type: "output.rewind", to_seq: asSeq(5), reason: "worker_lost" });
  log.append(delta("cret plans"), COMPLETED);
  expect(log.shown().text).toBe("a *** ***cret plans");
  const late = new JudgedLog(RULES);
  for (const text of ["a secret hu", "sh se"]) late.store(delta(text));
  late.store({ type: "output.rewind", to_seq: asSeq(2), reason: "worker_lost" });
  late.append(delta("cret plans"), COMPLETED);
  expect(late.shown().text).toBe("a *** ***cret plans");
});

test("a match that a rewind has cut in two does not bring back what was withdrawn around its beginning", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("her name"), delta(" is x, sec"), delta("urity"));
  const said = { rule: "guard", category: "guard" };
  log.append({
    type: "moderation.redacted",
    from_seq: asSeq(2),
    to_seq: asSeq(4),
    replacement: "[name]",
    ...said,
  });
  log.append({ type: "output.rewind", to_seq: asSeq(3), reason: "retry" }, delta("ret"));
  expect(log.shown().text).not.toMatch(/her name|is x/);
});

test("an interrupt after the end leaves nothing held, though the kept text ends like a match", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a sec"), delta("ond"), COMPLETED);
  expect(log.judge.cleared).toBe(4);
  log.append({ type: "output.rewind", to_seq: asSeq(2), reason: "interrupted" });
  expect(log.judge.cleared).toBe(5);
  expect(log.shown().text).toBe("a sec");
});
