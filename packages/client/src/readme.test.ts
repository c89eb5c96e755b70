import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createClient } from "./client.ts";
import { partialsOf } from "./json/index.ts";
import { completedLog, MIXED_TEXTS, numbered, toolLog } from "./testing/example-log.ts";
import { startFakeDelivery } from "./testing/fake-delivery.ts";
import { FAKE_ID } from "./testing/fake-log.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!);
const text = MIXED_TEXTS.join("");

/** Runs an example against a server, and returns what it wrote. */
async function run(example: string, url: string): Promise<string> {
  const body = example
    .replaceAll(/^import .*$/gm, "")
    .replace("http://127.0.0.1:8080", url)
    .replace("rk_…", "rk_x");
  let output = "";
  const write = (part: unknown): void => void (output += String(part));
  const console = { log: (...parts: unknown[]) => write(`${parts.join(" ")}\n`) };
  const AsyncFunction = run.constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction("createClient", "partialsOf", "process", "console", body)(
    createClient,
    partialsOf,
    { stdout: { write } },
    console,
  );
  return output;
}

const plainLog = completedLog(MIXED_TEXTS);
const callingLog = toolLog({ name: "look_up", arguments: '{"word":"log"}' });
const withdrawal = { type: "moderation.redacted", from_seq: 2, to_seq: 2, replacement: "…" };
const moderatedLog = numbered([...completedLog(["Psst."]), withdrawal]);
const formedLog = completedLog(['{"city": "Bo', 'nn"}']);
const moderatedOutput = [
  "generation.started ",
  "output.delta Psst.",
  "generation.completed Psst.",
  "moderation.redacted …",
];

it.each([
  [0, plainLog, `${text}\n${FAKE_ID} completed, 0 reconnect(s)\n`],
  [1, plainLog, `${text} completed\n`],
  [2, callingLog, "Let me see. It is 7. completed\n"],
  [3, moderatedLog, `${moderatedOutput.join("\n")}\n`],
  [4, formedLog, `{"city":"Bo"} false\n{"city":"Bonn"} true\n`],
])("example %i of the README does what it says", async (index, log, expected) => {
  await using delivery = await startFakeDelivery({ log, awaitsTools: true });
  expect(await run(examples[index]!, delivery.url)).toBe(expected);
});
