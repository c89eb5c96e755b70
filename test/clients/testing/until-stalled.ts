import { textOf } from "../../e2e/testing/cluster.ts";
import type { Platform } from "./platform.ts";
import { STALLING } from "./sim.ts";

/**
 * Resolves with the id of the generation that a client has asked for, `STALLING`, once it has said all that it says. Throws where the client
 * has its answer before: what was to happen in the middle of it can't happen any more.
 */
export async function untilStalled(platform: Platform, asked: Promise<unknown>): Promise<string> {
  const tooEarly = async () => {
    throw new Error("The answer came before it was disturbed.", { cause: await asked });
  };
  const id = await Promise.race([platform.untilSaid(1), tooEarly()]);
  await platform.untilLog(id, (events) => textOf(events) === STALLING.text);
  return id;
}
