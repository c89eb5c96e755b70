import { BUILT_IN_RULES } from "@reprise/protocol";
import { builtInShapes } from "../shapes/built-in-shapes.ts";
import { compileRuleSet } from "../rule-set.ts";
import { type FoundText, scan } from "../scanning/scanning.fixture.ts";
import { type Innocent, innocents, SORTS } from "./innocents/all.ts";
import { KINDS, type Positive, positives } from "./positives.ts";

export interface KindRow {
  readonly rule: string;
  readonly kind: string;
  readonly texts: number;
  /** Texts in which the kind's rule covers all of what is to be found. */
  readonly found: number;
}

export interface RuleRow {
  readonly rule: string;
  /** Findings on what is to be found, and findings on anything else. */
  readonly right: number;
  readonly wrong: number;
}

export interface SortRow {
  readonly sort: string;
  readonly texts: number;
  /** Texts in which anything is found. */
  readonly taken: number;
}

export interface Measurement {
  readonly kinds: readonly KindRow[];
  readonly rules: readonly RuleRow[];
  readonly sorts: readonly SortRow[];
  readonly missed: readonly Positive[];
  readonly mistaken: readonly (Innocent & { readonly findings: readonly FoundText[] })[];
}

/** Measures how well the built-in sets separate positives from innocent texts, on the whole corpus. */
export function measure(): Measurement {
  const set = compileRuleSet("corpus", [...BUILT_IN_RULES]);
  const judged = positives().map((positive) => ({ positive, findings: scan(set, [positive.text]) }));
  const missed = judged.filter(({ positive, findings }) => !isCovered(positive, findings));
  const looked = innocents().map((innocent) => ({ ...innocent, findings: scan(set, [innocent.text]) }));
  const mistaken = looked.filter(({ findings }) => findings.length > 0);
  const kinds = KINDS.map(({ name, rule }) => {
    const texts = judged.filter(({ positive }) => positive.kind.name === name).length;
    return {
      rule,
      kind: name,
      texts,
      found: texts - missed.filter(({ positive }) => positive.kind.name === name).length,
    };
  });
  const right = judged.flatMap(({ positive, findings }) =>
    findings.filter((finding) => touches(positive, finding)),
  );
  const wrong = [
    ...judged.flatMap(({ positive, findings }) => findings.filter((finding) => !touches(positive, finding))),
    ...mistaken.flatMap(({ findings }) => findings),
  ];
  const count = (findings: readonly FoundText[], of: string) =>
    findings.filter(({ rule }) => rule === of).length;
  return {
    kinds,
    rules: ruleNames().map((rule) => ({ rule, right: count(right, rule), wrong: count(wrong, rule) })),
    sorts: SORTS.map(({ name: sort }) => ({
      sort,
      texts: looked.filter((each) => each.sort === sort).length,
      taken: mistaken.filter((each) => each.sort === sort).length,
    })),
    missed: missed.map(({ positive }) => positive),
    mistaken,
  };
}

export function ruleNames(): string[] {
  return BUILT_IN_RULES.flatMap((set) => builtInShapes(set, "flag").map(({ label }) => label.rule));
}

/** True if the findings of the kind's own rule leave nothing of it visible. */
function isCovered({ kind, from, to }: Positive, findings: readonly FoundText[]): boolean {
  let seen = from;
  for (const finding of findings)
    if (finding.rule === kind.rule && finding.from <= seen) seen = Math.max(seen, finding.to);
  return seen >= to;
}

function touches(positive: Positive, finding: FoundText): boolean {
  return finding.from < positive.to && finding.to > positive.from;
}
