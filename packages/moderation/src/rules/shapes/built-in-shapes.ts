import type { BuiltInRules, ModerationAction } from "@reprise/protocol";
import { CARDS } from "./cards.ts";
import { Nfa } from "../scanning/nfa.ts";
import { SECRETS } from "./secrets.ts";
import { builtInSide } from "../scanning/side.ts";
import { Meter } from "../scanning/meter.ts";
import { type PreparedShape, prepareShape } from "../scanning/pattern-bank.ts";
import type { ShapeSource } from "./shape-source.ts";
import { IBAN } from "./iban.ts";
import { NATIONAL_IDS } from "./national-ids.ts";
import { PHONES } from "./phones.ts";

/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const LONGEST_ADDRESS = 254;

export const PERSONAL_DATA: readonly ShapeSource[] = [
  {
    name: "email",
    pattern: String.raw`\b\w[\w.%+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}`,
    maxLength: LONGEST_ADDRESS,
    check: (text) => (/^git@|@\d+\.\d|@\dx\./.test(text) ? 0 : text.length),
  },
  IBAN,
  ...PHONES,
  ...NATIONAL_IDS,
];

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
