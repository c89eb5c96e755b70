import type { EventDraft } from "@reprise/protocol";
import { expect, test } from "vitest";
import { COMPLETED, delta, GATE, JudgedLog } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";

/** Rules for words that an id may contain: ids are not searched for them. */
const RULES = wordRules({ blob: "halt", secret: "redact" });
const MADE: EventDraft = {
  type: "output.blob",
  kind: "image",
  blob: `blob_${"0".repeat(26)}`,
  media_type: "image/png",
  bytes: 9,
};

const judged = (moderation: Partial<typeof GATE>) => {
  const log = new JudgedLog(RULES, { ...GATE, ...moderation });
  log.append(delta("a "), MADE, delta("x"));
  return log;
};

test.each(["gate", "retract"] as const)("%s, allow: it is cleared as it comes", (mode) => {
  const log = judged({ mode, media: "allow" });
  expect([log.decisions, log.judge.cleared]).toEqual([[], 4]);
});

test.each(["gate", "retract"] as const)(
  "%s, withhold: it is withdrawn, and nothing of the text is",
  (mode) => {
    const log = judged({ mode, media: "withhold" });
    expect(log.decisions).toEqual(["moderation.redacted"]);
    expect(log.events.find(({ type }) => type === "moderation.redacted")).toMatchObject({
      from_seq: 3,
      to_seq: 3,
      channel: "blob",
      rule: "media",
      category: "unjudged",
    });
    expect([log.judge.cleared, log.shown().text]).toEqual([log.events.length, "a x"]);
  },
);

test("a gate shows nothing after it before it is decided", () => {
  const log = new JudgedLog(RULES, { ...GATE, media: "withhold" });
  log.append(delta("a "));
  const event = log.store(MADE);
  log.judge.fold(event);
  expect(log.judge.cleared).toBe(2);
});

test.each(["approve", "edit", "halt"] as const)(
  "gate, review: a person is asked, and %s is what follows",
  (decision) => {
    const log = judged({ media: "review" });
    expect(log.decisions).toEqual(["moderation.review"]);
    expect(log.judge.cleared).toBe(2);
    const [review] = log.judge.reviews.open;
    log.append({ type: "moderation.reviewed", review_id: review!.reviewId, decision, reviewer: "ann" });
    const follows = { approve: [], edit: ["moderation.redacted"], halt: ["moderation.halted"] }[decision];
    expect(log.decisions).toEqual(["moderation.review", "moderation.reviewed", ...follows]);
    expect(log.judge.cleared).toBe(log.events.length);
  },
);

test("observe: it is found and nothing follows", () => {
  const log = judged({ mode: "observe", media: "withhold" });
  expect(log.decisions).toEqual([]);
  expect(log.judge.findings.first).toMatchObject([{ rule: "media", from_seq: 3 }]);
});

test("of an earlier version's policy, which knows no such event, it is allowed", () => {
  const log = judged({});
  expect([log.decisions, log.judge.cleared]).toEqual([[], 4]);
});

test("another judge decides nothing twice", () => {
  const log = judged({ media: "withhold" });
  log.restart();
  log.settle();
  log.append(COMPLETED);
  expect(log.decisions).toEqual(["moderation.redacted"]);
});
