import { expect, test } from "vitest";
import { checkRuntimes, findReadingProblems } from "./check-runtimes.ts";

const fine = { text: "one two", streamed: "one two", status: "completed", cancelled: "cancelled" };

test("a program that read what the platform has is fine", () => {
  expect(findReadingProblems(JSON.stringify(fine))).toEqual([]);
});

test.each([
  [{ streamed: "one" }, "streamed one, and the platform has one two"],
  [{ text: "", streamed: "" }, "streamed , and the platform has "],
  [{ status: "failed" }, "the generation is failed, not completed"],
  [{ cancelled: "completed" }, "the cancelled generation is completed"],
])("%o is a problem", (read, problem) => {
  expect(findReadingProblems(JSON.stringify({ ...fine, ...read }))).toEqual([problem]);
});

test("a program that fails is a problem, and is not reported as one that streamed", async () => {
  const platform = { url: "http://127.0.0.1:1", apiKey: "rk_x" };
  const runtime = (name: string, code: string) => ({
    name,
    command: [process.execPath, "-e", code] as const,
  });
  const { problems, report } = await checkRuntimes(import.meta.dirname, platform, [
    runtime("good", `console.log(${JSON.stringify(JSON.stringify(fine))})`),
    runtime("bad", "throw new Error('no fetch')"),
  ]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^bad: [\s\S]*no fetch/);
  expect(report).toEqual(["streamed, resumed and cancelled: good"]);
});
