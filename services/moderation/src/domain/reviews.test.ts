import { asSeq, channelOf, textOf } from "@reprise/protocol";
import { expect, test } from "vitest";
import { delta, JudgedLog, reasoning } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";

const RULES = wordRules({ doubt: "review" });
const ANSWER = { type: "moderation.reviewed", review_id: "rev_3", reviewer: "ann" } as const;
const ASKED = {
  type: "moderation.review",
  review_id: "rev_3",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  rule: "doubt",
  category: "word",
  expires_at: "2026-11-22T10:00:00Z",
} as const;

test("each match is a review of its own, which tells where in its events' text it lies", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a doubt, a dou"), reasoning("doubt"), delta("bt."));
  const texts = log.events.flatMap((event) => {
    if (event.type !== "moderation.review") return [];
    const { from_seq, to_seq, from_offset, to_offset, channel = "0" } = event;
    const inside = log.events.filter((one) => one.seq >= from_seq && one.seq <= to_seq);
    const text = inside.map((one) => (channelOf(one) === channel ? textOf(one) : "")).join("");
    return [`${channel}: ${text} ${text.slice(from_offset, to_offset)}`];
  });
  expect(texts).toEqual(["0: a doubt, a dou doubt", "reasoning: doubt doubt", "0: a doubt, a doubt. doubt"]);
});

test.each(["first", "second"])(
  "who edits the %s of two matches in one event leaves the other, and what lies between them",
  (which) => {
    for (const restart of [false, true]) {
      const log = new JudgedLog(RULES);
      log.append(delta("a doubt, no doubt."));
      const ids = log.judge.reviews.open.map(({ reviewId }) => reviewId);
      const order = which === "first" ? ids : ids.toReversed();
      const edit = (review_id: string | undefined, replacement: string) => {
        if (restart) log.restart();
        log.append({ ...ANSWER, review_id: `${review_id}`, decision: "edit", replacement });
      };
      edit(order[0], "#");
      expect(log.shown().text).toBe(which === "first" ? "a #, no doubt." : "a doubt, no #.");
      // What is still asked about stays with the gate, though the log tells it beside what was replaced.
      expect(log.judge.cleared).toBe(1);
      edit(order[1], "+");
      const text = which === "first" ? "a #, no +." : "a +, no #.";
      expect([log.shown().text, log.judge.cleared]).toEqual([text, log.events.length]);
    }
  },
);

test("a review that tells no offsets, of an older log, asks about all matches of its rule in its events", () => {
  const log = new JudgedLog(RULES);
  log.store(delta("a doubt, a doubt."));
  log.store(ASKED);
  log.append({ ...ANSWER, decision: "edit", replacement: "#" });
  expect(log.decisions).toEqual(["moderation.review", "moderation.reviewed", "moderation.redacted"]);
  expect(log.shown().text).toBe("a #.");
});

test("a decision about what today's rules do not find is carried out where the review says", () => {
  const log = new JudgedLog(wordRules({}));
  log.store(delta("a doubt, a word."));
  log.store({ ...ASKED, from_offset: 2, to_offset: 7 });
  log.append({ ...ANSWER, decision: "edit", replacement: "#" });
  expect(log.shown().text).toBe("a #, a word.");
});
