import { expect, test } from "vitest";
import { drillRestore } from "./restore-drill.ts";

test("a platform that is backed up under load and destroyed continues from its backup", async () => {
  const said: string[] = [];
  const problems = await drillRestore({ ended: 2, running: 4, young: 1 }, (line) => said.push(line));
  expect({ problems, said: problems.length > 0 && said }).toEqual({ problems: [], said: false });
});
