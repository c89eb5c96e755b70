import { describe, expect, test } from "vitest";
import { judgeWindow } from "./classify-window.ts";
import { judged } from "../classifiers/testing/fake-classifier.ts";

const scores = { violence: 0.9, hate: 0.6, sexual: 0.1 };

describe("a window is a hit", () => {
  test("for the flagged category with the highest score", () => {
    expect(judgeWindow({}, judged({ flagged: ["hate", "violence"], scores }))).toEqual({
      category: "violence",
      score: 0.9,
    });
  });

  test("for a category that reaches the threshold, flagged or not", () => {
    expect(judgeWindow({ threshold: 0.6 }, judged({ scores: { hate: 0.6 } }))).toEqual({
      category: "hate",
      score: 0.6,
    });
  });

  test("for a category that the rule names, though another category scores higher", () => {
    const rule = { categories: new Set(["hate"]), threshold: 0.5 };
    expect(judgeWindow(rule, judged({ flagged: ["violence"], scores }))).toMatchObject({ category: "hate" });
  });

  test("for a flag without a score, as 1", () => {
    const result = judged({ flagged: ["S1"], scores: {} });
    expect(judgeWindow({ threshold: 0.99 }, result)).toEqual({ category: "S1", score: 1 });
  });
});

describe("a window is no hit", () => {
  test.each([
    ["when nothing is flagged", {}, judged({ scores })],
    [
      "when only other categories than the rule's are",
      { categories: new Set(["sexual"]) },
      judged({ flagged: ["hate"] }),
    ],
    [
      "when what is flagged stays below the threshold",
      { threshold: 0.95 },
      judged({ flagged: ["violence"], scores }),
    ],
    [
      "for a category that every object has",
      { categories: new Set(["constructor"]), threshold: 0 },
      judged({ scores }),
    ],
  ])("%s", (_, rule, result) => {
    expect(judgeWindow(rule, result)).toBeUndefined();
  });
});
