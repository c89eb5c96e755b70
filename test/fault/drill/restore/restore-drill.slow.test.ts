import { expect, test } from "vitest";
import { drillRestore } from "./restore-drill.ts";

test("a platform that was backed up while it wrote, and destroyed, is as it was, and goes on", async () => {
  const said: string[] = [];
  const problems = await drillRestore({ ended: 2, running: 4, young: 1 }, (line) => said.push(line));
  expect({ problems, said: problems.length > 0 && said }).toEqual({ problems: [], said: false });
});
