import type { BUDGET_CLASS_NAMES } from "@reprise/protocol";

/** The targets of a class of applications for the time until a reader sees the first useful output: the most milliseconds at each quantile. */
export interface BudgetClass {
  /** Number of output tokens that a reader must see before the application can begin: 1, or enough for the first words of a voice. */
  readonly tokens: number;
  readonly targets: readonly BudgetTarget[];
}

export interface BudgetTarget {
  readonly quantile: number;
  readonly ms: number;
}

export const BUDGET_CLASSES = {
  "chat-responsive": { tokens: 1, targets: [{ quantile: 0.95, ms: 500 }] },
  "chat-instant": { tokens: 1, targets: [{ quantile: 0.95, ms: 200 }] },
  voice: {
    tokens: 8,
    targets: [
      { quantile: 0.95, ms: 800 },
      { quantile: 0.5, ms: 500 },
    ],
  },
  captions: { tokens: 1, targets: [{ quantile: 0.95, ms: 300 }] },
} as const satisfies Record<(typeof BUDGET_CLASS_NAMES)[number], BudgetClass>;

/** The parts of that time, in their order; `decode` is the engine's time from its first output to the last token of `tokens`. */
export const BUDGET_TERMS = [
  "queue",
  "prefill",
  "decode",
  "broker",
  "moderation",
  "delivery",
  "client",
] as const;
export type BudgetTerm = (typeof BUDGET_TERMS)[number];

type Shares = Readonly<Record<BudgetTerm, number>>;

/** The share of each term in a target of the first token. The engine's own time is most of it; the platform's is a fifth. */
const OF_FIRST_TOKEN: Shares = {
  queue: 0.1,
  prefill: 0.6,
  decode: 0,
  broker: 0.04,
  moderation: 0.08,
  delivery: 0.04,
  client: 0.14,
};

/** The same where there are more tokens: a third of the engine's time is for those. */
const OF_MORE_TOKENS: Shares = { ...OF_FIRST_TOKEN, prefill: 0.4, decode: 0.2 };

/** Returns the share of each term in a target: together 1. */
export function allottedShares({ tokens }: Pick<BudgetClass, "tokens">): Shares {
  return tokens === 1 ? OF_FIRST_TOKEN : OF_MORE_TOKENS;
}
