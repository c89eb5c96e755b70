import type { BUDGET_CLASS_NAMES } from "@reprise/protocol";

/** What a class of applications asks of the time to the first output that a reader sees: at each quantile so many milliseconds at most. */
export interface BudgetClass {
  readonly targets: readonly BudgetTarget[];
}

export interface BudgetTarget {
  readonly quantile: number;
  readonly ms: number;
}

export const BUDGET_CLASSES = {
  "chat-responsive": { targets: [{ quantile: 0.95, ms: 500 }] },
  "chat-instant": { targets: [{ quantile: 0.95, ms: 200 }] },
  voice: {
    targets: [
      { quantile: 0.95, ms: 800 },
      { quantile: 0.5, ms: 500 },
    ],
  },
  captions: { targets: [{ quantile: 0.95, ms: 300 }] },
} as const satisfies Record<(typeof BUDGET_CLASS_NAMES)[number], BudgetClass>;

/** The parts of the time to the first output that a reader sees, in their order. */
export const BUDGET_TERMS = ["queue", "prefill", "broker", "moderation", "delivery", "client"] as const;
export type BudgetTerm = (typeof BUDGET_TERMS)[number];

/** What each term may take of a target. The engine's own time is most of it; the platform's is a fifth. */
export const ALLOTTED_SHARES: Readonly<Record<BudgetTerm, number>> = {
  queue: 0.1,
  prefill: 0.6,
  broker: 0.04,
  moderation: 0.08,
  delivery: 0.04,
  client: 0.14,
};
