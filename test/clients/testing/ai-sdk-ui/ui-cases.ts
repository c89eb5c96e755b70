import { expect } from "vitest";
import type { Asker } from "../client.ts";
import type { Platform } from "../platform.ts";
import { FAILING, RESTARTING } from "../sim.ts";
import { takeOver } from "../take-over.ts";

/* Cases whose outcome is another one in a chat of the AI SDK than in other clients. */

type Case = (platform: Platform, client: Asker) => Promise<void>;

/** The chat has the message of the failure; its code is in the chunk. */
export const failure: Case = async (platform, client) => {
  const before = await platform.runs();
  const { text, error } = await client.ask({ platform, scripts: [FAILING] });
  expect(text).toBe(FAILING.text);
  expect(error).toMatchObject({ message: expect.stringMatching(/told to fail after 20 tokens/) });
  expect((await platform.runs()) - before).toBe(1);
};

/** What was shown is taken back. */
export const takeoverWithoutContinuation: Case = async (platform, client) => {
  const told = await takeOver(platform, RESTARTING, async (script) => {
    const before = await platform.runs();
    const asked = await client.ask({ platform, scripts: [script] });
    expect((await platform.runs()) - before).toBe(1);
    return asked;
  });
  expect(told).toMatchObject({ text: RESTARTING.text, finish: "stop", error: undefined });
};
