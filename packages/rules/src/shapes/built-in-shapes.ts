import type { BuiltInRules, ModerationAction } from "@reprise/protocol";
import { CARDS } from "./cards.ts";
import { Nfa } from "../scanning/nfa.ts";
import { PERSONAL_DATA } from "./personal-data.ts";
import { SECRETS } from "./secrets.ts";
import type { Shape } from "../scanning/pattern-bank.ts";
import type { ShapeSource } from "./shape-source.ts";

/** Counts the changes of what the sets find. A rule set's id does not tell them: it names the sets. */
export const BUILT_IN_VERSION = 2;

const SETS: Record<BuiltInRules, readonly ShapeSource[]> = {
  cards: CARDS,
  secrets: SECRETS,
  "personal-data": PERSONAL_DATA,
};

/** The shapes of a built-in set, each a rule of its own: `<set>.<name>`. */
export function builtInShapes(set: BuiltInRules, action: ModerationAction): Shape[] {
  return SETS[set].map(({ name, pattern, maxLength, check }) => ({
    label: { rule: `${set}.${name}`, category: set, action },
    nfa: new Nfa(pattern, 0),
    maxLength,
    check,
  }));
}
