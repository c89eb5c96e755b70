import type { BuiltInRules, ModerationAction } from "@reprise/protocol";
import { CARDS } from "./cards.ts";
import { Nfa } from "../scanning/nfa.ts";
import { PERSONAL_DATA } from "./personal-data.ts";
import { SECRETS } from "./secrets.ts";
import { builtInSide } from "../scanning/side.ts";
import { Meter } from "../scanning/meter.ts";
import { type PreparedShape, prepareShape } from "../scanning/pattern-bank.ts";
import type { ShapeSource } from "./shape-source.ts";

/** Counts the changes of what the sets find. A rule set's id does not tell them: it names the sets. */
export const BUILT_IN_VERSION = 2;

const SETS: Record<BuiltInRules, readonly ShapeSource[]> = {
  cards: CARDS,
  secrets: SECRETS,
  "personal-data": PERSONAL_DATA,
};

/** Made once in a process: rule sets share them, and the states that texts have made of them, for each of which its text pays. */
const prepared = new Map<BuiltInRules, readonly PreparedShape[]>();
const LABEL = { rule: "", category: "", action: "flag" } as const;

/** The shapes of a built-in set, each a rule of its own: `<set>.<name>`. */
export function builtInShapes(set: BuiltInRules, action: ModerationAction): PreparedShape[] {
  const shapes = prepared.get(set) ?? SETS[set].map(prepare);
  prepared.set(set, shapes);
  return shapes.map((shape, at) => ({
    ...shape,
    label: { rule: `${set}.${SETS[set][at]!.name}`, category: set, action },
  }));
}

function prepare({ pattern, maxLength, check }: ShapeSource): PreparedShape {
  const shape = { label: LABEL, nfa: new Nfa(pattern, 0), maxLength, check };
  return prepareShape(shape, builtInSide, new Meter());
}
