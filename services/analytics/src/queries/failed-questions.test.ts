import { expect, test } from "vitest";
import { FailedQuestions } from "./failed-questions.ts";

/** Questions that can be answered once they are in `readable`. */
function openQuestions() {
  const readable = new Set<string>();
  const asked: string[] = [];
  const told: string[] = [];
  const questions = new FailedQuestions({
    askAgain: async (question) => asked.push(question) > 0 && readable.has(question),
    onAnswered: () => told.push("answered"),
    pauseMs: 1,
  });
  return { readable, asked, told, questions };
}

test("an answer to one question does not replace another that has failed", async () => {
  const { readable, asked, told, questions } = openQuestions();
  using _ = questions;
  questions.failed("a");
  questions.failed("b");
  questions.answered("c");
  readable.add("a");
  await expect.poll(() => asked.filter((question) => question === "b").length).toBeGreaterThan(2);
  expect(asked.filter((question) => question === "a")).toHaveLength(1);
  expect(told).toEqual([]);
  readable.add("b");
  await expect.poll(() => told).toEqual(["answered"]);
  questions.answered("c");
  expect(told).toEqual(["answered", "answered"]);
});

test("questions that fail later are asked again too, the newest ones", async () => {
  const { readable, asked, told, questions } = openQuestions();
  using _ = questions;
  const many = Array.from({ length: 20 }, (_value, i) => `q${i}`);
  for (const question of many) questions.failed(question);
  for (const question of many) readable.add(question);
  await expect.poll(() => told).toEqual(["answered"]);
  expect(asked).toEqual(many.slice(-16));
  questions.failed("later");
  readable.add("later");
  await expect.poll(() => told).toHaveLength(2);
});
