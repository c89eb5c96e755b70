import { test } from "vitest";

/** Rows of the table of cases in docs/clients.md. */
export const CASES = [
  "plain",
  "tools",
  "reasoning",
  "structured",
  "cancel",
  "failure",
  "takeover with continuation",
  "takeover without continuation",
  "observe",
  "gate",
  "retract",
  "random cuts",
] as const;

export type CaseName = (typeof CASES)[number];

/** Cases that a client cannot have; docs/clients.md says why. */
export const WITHOUT: Readonly<Record<string, readonly CaseName[]>> = {
  "openai .stream()": ["reasoning"],
  "@ai-sdk/openai chat": ["reasoning"],
};

/** Registers a test for each case of a client, random cuts first: no test before them leaves a connection that would be reused. */
export function testCells(client: string, run: (name: CaseName) => Promise<void>): void {
  const others = CASES.filter((name) => name !== "random cuts");
  for (const name of ["random cuts", ...others] as const)
    if (!WITHOUT[client]?.includes(name)) test(`${client} | ${name}`, () => run(name));
}
