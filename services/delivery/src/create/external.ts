import { RepriseError } from "@reprise/protocol";
import type { Step } from "./run-steps.ts";

/**
 * Begins the create of a generation that a producer writes. It is counted against no budget: its engine is the tenant's own.
 * @throws RepriseError `forbidden` for a stream token, `capability_unsupported` for streamed input
 */
export const external: Step = {
  name: "external",
  async run(creating) {
    const { asked, sent } = creating;
    if (!asked.call || asked.principal.tokenId !== undefined)
      throw refused("forbidden", "model", "external needs an API key: a page must not write its own answers");
    if (sent.input_stream)
      throw refused("capability_unsupported", "input.stream", "external takes no streamed input");
    creating.charges = undefined;
    return undefined;
  },
};

function refused(code: "forbidden" | "capability_unsupported", param: string, problem: string): RepriseError {
  return new RepriseError(code, `${param}: ${problem}.`, { param });
}
