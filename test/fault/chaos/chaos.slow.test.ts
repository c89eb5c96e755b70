import { expect, test } from "vitest";
import { parseChaosOptions, USAGE } from "./options.ts";
import { runChaos } from "./run-chaos.ts";

test("a fault is told line by line as it happens, and the ledger has the last word", async () => {
  let told = "";
  const out = { write: (text: string) => (told += text) };
  expect(await runChaos({ fault: "reader", times: 1 }, 7, out)).toBe(true);
  expect(told).toMatch(/^ +\d+\.\d s  ✂ the connections of all \d+ readers are reset$/m);
  expect(told).toMatch(/^ +\d+\.\d s    all have resumed; the slowest waited \d/m);
  expect(told).toMatch(/lost \/ repeated \/ reordered \/ of others +0 \/ 0 \/ 0 \/ 0$/m);
  expect(told).toMatch(/\nThe ledger agrees: nothing lost, nothing hung\.\n$/);
});

test("what can be broken, and how often, is said when it is not understood", () => {
  expect(parseChaosOptions(["worker"])).toEqual({ fault: "worker", times: 2 });
  expect(parseChaosOptions(["broker", "--times", "3"])).toEqual({ fault: "broker", times: 3 });
  expect(() => parseChaosOptions([])).toThrow("What is to be broken?");
  expect(() => parseChaosOptions(["moon"])).toThrow('"moon" can\'t be broken here.');
  expect(() => parseChaosOptions(["worker", "--times", "0"])).toThrow('--times: "0" is not');
  expect(USAGE).toContain("npm run chaos -- <worker|delivery|broker|reader>");
});
