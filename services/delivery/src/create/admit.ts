import type { RequestLimits } from "../limits/request-limits.ts";
import type { Step } from "./run-steps.ts";

/**
 * Counts the create against its tenant's limits. One that joins counts as a call alone, and is done then.
 * @throws RepriseError `limit_exceeded`, `invalid_request` (more than a limit ever grants)
 */
export function admit({ limits }: { readonly limits: Pick<RequestLimits, "create" | "abandoned"> }): Step {
  return {
    name: "admit",
    async run({ asked, request, ref, tokens, created }) {
      const { principal, call, isStream = false } = asked;
      const generation = created ? undefined : ref.generation;
      await limits.create(call, principal, { endUser: request.end_user, generation, tokens, isStream });
      return created ? "done" : undefined;
    },
    undo: ({ ref, tokens }) => limits.abandoned(ref, tokens),
  };
}
