import { textOf } from "../../e2e/testing/cluster.ts";
import type { Platform, Tenant } from "./platform.ts";
import { STALLING } from "./sim.ts";

/** Resolves with the id of the generation that a client has asked for, once it has said so many deltas. Throws where the client has its answer before. */
export function untilSaid(
  platform: Platform,
  asked: Promise<unknown>,
  deltas: number,
  tenant?: Tenant,
): Promise<string> {
  return Promise.race([platform.untilSaid(deltas, tenant), tooEarly(asked)]);
}

/** The same of `STALLING`, once it has said all that it says. */
export async function untilStalled(platform: Platform, asked: Promise<unknown>): Promise<string> {
  const id = await untilSaid(platform, asked, 1);
  await platform.untilLog(id, (events) => textOf(events) === STALLING.text);
  return id;
}

/** What was to happen in the middle of an answer can't happen any more. */
async function tooEarly(asked: Promise<unknown>): Promise<never> {
  throw new Error("The answer came before it was disturbed.", { cause: await asked });
}
