import type { RuleFinding } from "./finding.ts";
import type { RuleSet } from "../rule-set.ts";

/** A finding with the text it covers, for people who read a failure. */
export type FoundText = Pick<RuleFinding, "rule" | "from" | "to"> & { text: string };

/** Returns the findings of a rule set in a text that comes in pieces, in the order of the text. */
export function scan(set: RuleSet, pieces: readonly string[]): FoundText[] {
  const whole = pieces.join("");
  const scanner = set.createScanner();
  const findings = pieces.flatMap((piece) => [...scanner.push(piece)]);
  return inOrder([...findings, ...scanner.end()], whole);
}

/** Findings with the text they cover, in the order of the text. */
export function inOrder(findings: readonly RuleFinding[], whole: string): FoundText[] {
  return findings
    .map(({ rule, from, to }) => ({ rule, from, to, text: whole.slice(from, to) }))
    .toSorted((a, b) => a.from - b.from || a.to - b.to || a.rule.localeCompare(b.rule));
}

/** The rule and the text of each finding, as `rule: text`. */
export function found(set: RuleSet, text: string): string[] {
  return scan(set, [text]).map(({ rule, text: covered }) => `${rule}: ${covered}`);
}

/** A text in pieces that end at these places. */
export function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places.filter((place) => place <= text.length), text.length].toSorted((a, b) => a - b);
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}
