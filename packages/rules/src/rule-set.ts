import type { JudgedBy, ModerationAction, ModerationRule } from "@reprise/protocol";
import { assertRules } from "./assert-rules.ts";
import { BUILT_IN_VERSION, builtInShapes } from "./shapes/built-in-shapes.ts";
import {
  DEFAULT_ACTION,
  type Detector,
  type RuleFinding,
  type RuleLabel,
  type Scanner,
} from "./scanning/finding.ts";
import { BANK_SIZE, PatternBank, type Shape } from "./scanning/pattern-bank.ts";
import { PatternScanner } from "./scanning/pattern-scanner.ts";
import { builtInSide, re2Side, type SideRule } from "./scanning/side.ts";
import { SymbolBuffer } from "./scanning/symbol-buffer.ts";
import { TermAutomaton } from "./scanning/term-automaton.ts";
import { TermScanner } from "./scanning/term-scanner.ts";
import { termForms, termSymbols, TermTrie } from "./scanning/term-trie.ts";
import { tenantShape } from "./shapes/tenant-shape.ts";
import { TextScanner } from "./scanning/text-scanner.ts";

/** A rule that asks a classifier: nothing here does; the rule set only hands it on. */
export interface ClassifierRule {
  rule: string;
  classifier: string;
  action: ModerationAction;
  /** Only these of its categories count. Default: all. */
  categories?: ReadonlySet<string>;
  /** From which score on a category counts, 0 to 1. Default: what the classifier itself calls flagged. */
  threshold?: number;
}

/** Rules made ready for any number of texts. */
export interface RuleSet {
  readonly id: string;
  /** What its verdicts say of it. */
  readonly judgedBy: JudgedBy;
  readonly classifiers: readonly ClassifierRule[];
  /** The memory that its terms take, roughly. */
  readonly bytes: number;
  createScanner(): Scanner;
}

/**
 * Makes rules ready: the terms of all of them become one automaton, built-in shapes and patterns become automata that texts build as
 * they need them. 5,000 terms take some 100 ms and 10 MB, so compile a rule set once and keep it.
 * @throws RepriseError `invalid_request` that names the rule which can't be used
 */
export function compileRuleSet(id: string, rules: readonly ModerationRule[]): RuleSet {
  assertRules(rules, "rules");
  const parts = new Parts();
  for (const [index, rule] of rules.entries()) parts.add(rule, index);
  const { trie, labels, classifiers } = parts;
  const automaton = labels.length > 0 ? new TermAutomaton(trie) : undefined;
  const folded = parts.folded;
  const plain = new SymbolBuffer();
  const builtInBanks = toBanks(parts.builtIn, builtInSide);
  const patternBanks = toBanks(parts.patterns, re2Side);
  const createScanner = (): Scanner =>
    new TextScanner((report: (finding: RuleFinding) => void) => {
      const terms: Detector[] = automaton ? [new TermScanner(automaton, labels, report)] : [];
      const overBank = (bank: PatternBank): Detector => new PatternScanner(bank, report);
      const overFolded = [...terms, ...builtInBanks.map(overBank)];
      return { folded, plain, overFolded, overPlain: patternBanks.map(overBank) };
    });
  const judgedBy = { rule_set: id, ...(builtInBanks.length > 0 && { built_in: BUILT_IN_VERSION }) };
  return { id, judgedBy, classifiers, bytes: automaton?.bytes ?? 0, createScanner };
}

/** Rules sorted by how they are judged. */
class Parts {
  readonly folded = new SymbolBuffer();
  readonly trie = new TermTrie();
  /** Of the rules with terms, as the trie numbers them. */
  readonly labels: RuleLabel[] = [];
  readonly builtIn: Shape[] = [];
  readonly patterns: Shape[] = [];
  readonly classifiers: ClassifierRule[] = [];

  add(rule: ModerationRule, index: number): void {
    if (typeof rule === "string") this.builtIn.push(...builtInShapes(rule, DEFAULT_ACTION));
    else if ("set" in rule) this.builtIn.push(...builtInShapes(rule.set, rule.action ?? DEFAULT_ACTION));
    else if ("pattern" in rule) this.patterns.push(tenantShape(rule, index));
    else if ("classifier" in rule) {
      const { classifier, action = "flag", categories, threshold } = rule;
      this.classifiers.push({
        rule: classifier,
        classifier,
        action,
        ...(categories === undefined ? {} : { categories: new Set(categories) }),
        ...(threshold === undefined ? {} : { threshold }),
      });
    } else {
      const { terms, name = `terms-${index}`, category = "terms", action = DEFAULT_ACTION } = rule;
      for (const form of terms.flatMap(termForms))
        this.trie.add(termSymbols(form, this.folded), this.labels.length, rule.match ?? "word");
      this.labels.push({ rule: name, category, action });
    }
  }
}

function toBanks(shapes: readonly Shape[], sideOf: SideRule): PatternBank[] {
  const banks: PatternBank[] = [];
  for (let at = 0; at < shapes.length; at += BANK_SIZE)
    banks.push(new PatternBank(shapes.slice(at, at + BANK_SIZE), sideOf));
  return banks;
}
