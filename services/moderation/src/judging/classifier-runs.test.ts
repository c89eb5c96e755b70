import { type EventDraft, type KnownEvent, asSeq } from "@reprise/protocol";
import { compileRuleSet } from "@reprise/moderation";
import { expect, test } from "vitest";
import { ClassifierRuns } from "./classifier-runs.ts";
import { COMPLETED, delta, toolCall, toolResult } from "../testing/log-of.ts";

function foldAll(drafts: readonly EventDraft[]): string[] {
  const asked: string[] = [];
  const late = new ClassifierRuns({
    ruleSet: compileRuleSet("classified", [{ classifier: "guard" }]),
    classifiedBefore: asSeq(0),
    async classify(_rule, { text }) {
      asked.push(text);
      return { kind: "judged" };
    },
    onFinding: () => {},
    onDone: () => {},
  });
  for (const [i, draft] of drafts.entries()) late.fold({ ...draft, seq: i + 1 } as KnownEvent);
  return asked;
}

test("what a turn has said is classified when it calls a tool, not when the tool has answered", () => {
  const turn = [delta("Let me "), delta("check."), toolCall("{}")];
  expect(foldAll(turn)).toEqual(["Let me check."]);
  expect(foldAll([...turn, toolCall("{}"), toolResult(), delta(" Done."), COMPLETED])).toEqual([
    "Let me check.",
    "Let me check. Done.",
  ]);
});
