import { effectiveRequest } from "@reprise/protocol";
import type { RequestBudgets } from "../limits/request-budgets.ts";
import { mediaOf, promptFields } from "./encode-request.ts";
import type { Step } from "./run-steps.ts";

interface ReservePorts {
  readonly budgets: Pick<RequestBudgets, "reserve" | "abandoned">;
}

/**
 * Reserves the request itself, and its first tokens, of the tenant's budgets: a request that they refuse costs no reads and no checks.
 * @throws RepriseError `budget_exceeded`, `budget_unpriced`, `budget_unavailable`
 */
export function reserve({ budgets }: ReservePorts): Step {
  return {
    name: "reserve",
    async run({ ref, charges, request }) {
      await budgets.reserve(ref, charges, request);
      return undefined;
    },
    undo: ({ ref, charges }) => budgets.abandoned(ref, charges),
  };
}

/**
 * Reserves earlier turns and media too, once they are known.
 * @throws RepriseError as `reserve`
 */
export function reserveRest({ budgets }: ReservePorts): Step {
  return {
    name: "reserve the rest",
    async run(creating) {
      const { ref, charges, request } = creating;
      const { prompt } = promptFields(creating);
      const media = mediaOf(creating);
      if (prompt || media)
        await budgets.reserve(ref, charges, effectiveRequest({ request, ...(prompt && { prompt }) }), media);
      return undefined;
    },
  };
}
