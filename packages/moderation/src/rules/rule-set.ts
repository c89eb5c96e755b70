import type { JudgedBy, ModerationAction, ModerationRule } from "@reprise/protocol";
import { matchLengthOf, STEPS_PER_INSTRUCTION } from "./assert-rules.ts";
import { BUILT_IN_VERSION, builtInShapes } from "./shapes/built-in-shapes.ts";
import {
  DEFAULT_ACTION,
  type Detector,
  type RuleFinding,
  type RuleLabel,
  type Scanner,
} from "./scanning/finding.ts";
import { MOST_STATES } from "./scanning/lazy-dfa.ts";
import { Meter } from "./scanning/meter.ts";
import { BANK_SIZE, PatternBank, type PreparedShape, prepareShape } from "./scanning/pattern-bank.ts";
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
  /** The description of the set in its verdicts. */
  readonly judgedBy: JudgedBy;
  readonly classifiers: readonly ClassifierRule[];
  /** The memory that it may take, roughly: of its terms, and of its patterns' automata, which texts make. */
  readonly bytes: number;
  /** Steps of all its scanners so far; a step takes some 15 ns. */
  readonly steps: number;
  /** The longest piece of a text to push at once while others wait, in UTF-16 units: about `PIECE_STEPS` at worst. */
  readonly pieceLength: number;
  createScanner(): Scanner;
}

/** Steps that others wait for: under a millisecond. */
const PIECE_STEPS = 16_384;
const LONGEST_PIECE = 512;
/** A state of an automaton, with what it was reached from. */
const STATE_BYTES = 1_024;

/**
 * Makes rules ready: the terms of all of them become one automaton, built-in shapes and patterns become automata that texts build as
 * they need them. 5,000 terms take some 100 ms and 10 MB, so compile a rule set once and keep it.
 *
 * Rules that were accepted once are taken at any cost: `assertRules` refuses those that cost too much.
 * @throws RepriseError, RE2JSException for rules that `assertRules` would not accept either
 */
export function compileRuleSet(id: string, rules: readonly ModerationRule[]): RuleSet {
  const compiling = compilingRuleSet(id, rules);
  for (;;) {
    const { done, value } = compiling.next();
    if (done) return value;
  }
}

/** The same in slices: yields the steps that it has taken since it last did, some ten thousand. */
export function* compilingRuleSet(id: string, rules: readonly ModerationRule[]): Generator<number, RuleSet> {
  const parts = new Parts();
  for (const [index, rule] of rules.entries()) yield* parts.adding(rule, index);
  const { trie, labels, classifiers, meter } = parts;
  const automaton = labels.length > 0 ? yield* TermAutomaton.build(trie) : undefined;
  const folded = parts.folded;
  const plain = new SymbolBuffer();
  const builtInBanks = toBanks(parts.builtIn, builtInSide, meter);
  const patternBanks = toBanks(parts.patterns, re2Side, meter);
  const createScanner = (): Scanner =>
    new TextScanner((report: (finding: RuleFinding) => void) => {
      const terms: Detector[] = automaton ? [new TermScanner(automaton, labels, report, meter)] : [];
      const overBank = (bank: PatternBank): Detector => new PatternScanner(bank, report);
      const overFolded = [...terms, ...builtInBanks.map(overBank)];
      return { folded, plain, meter, overFolded, overPlain: patternBanks.map(overBank) };
    });
  const judgedBy = { rule_set: id, ...(builtInBanks.length > 0 && { built_in: BUILT_IN_VERSION }) };
  const bytes = (automaton?.bytes ?? 0) + parts.patterns.length * MOST_STATES * STATE_BYTES;
  const pieceLength = Math.min(
    Math.max(1, Math.floor(PIECE_STEPS / (1 + matchLengthOf(rules)))),
    LONGEST_PIECE,
  );
  return {
    id,
    judgedBy,
    classifiers,
    bytes,
    pieceLength,
    createScanner,
    get steps() {
      return meter.steps;
    },
  };
}

/** Rules sorted by how they are judged. */
class Parts {
  readonly folded = new SymbolBuffer();
  readonly trie = new TermTrie();
  /** Labels of the rules with terms, by their numbers in the trie. */
  readonly labels: RuleLabel[] = [];
  readonly builtIn: PreparedShape[] = [];
  readonly patterns: PreparedShape[] = [];
  readonly classifiers: ClassifierRule[] = [];
  readonly meter = new Meter();

  *adding(rule: ModerationRule, index: number): Generator<number> {
    if (typeof rule === "string") this.builtIn.push(...builtInShapes(rule, DEFAULT_ACTION));
    else if ("set" in rule) this.builtIn.push(...builtInShapes(rule.set, rule.action ?? DEFAULT_ACTION));
    else if ("pattern" in rule) {
      const shape = prepareShape(tenantShape(rule, index), re2Side, this.meter);
      this.patterns.push(shape);
      yield STEPS_PER_SHAPE + shape.nfa.size * STEPS_PER_INSTRUCTION;
    } else if ("classifier" in rule) {
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
      let steps = 0;
      for (const term of terms) {
        for (const form of termForms(term))
          this.trie.add(termSymbols(form, this.folded), this.labels.length, rule.match ?? "word");
        steps += STEPS_PER_TERM + term.length * STEPS_PER_LETTER;
        if (steps < STEPS_AT_ONCE) continue;
        yield steps;
        steps = 0;
      }
      yield steps;
      this.labels.push({ rule: name, category, action });
    }
  }
}

const STEPS_PER_SHAPE = 10_000;
/** Steps to fold a term and add it to the others. */
const STEPS_PER_TERM = 50;
const STEPS_PER_LETTER = 80;
const STEPS_AT_ONCE = 20_000;

function toBanks(shapes: readonly PreparedShape[], sideOf: SideRule, meter: Meter): PatternBank[] {
  const banks: PatternBank[] = [];
  for (let at = 0; at < shapes.length; at += BANK_SIZE)
    banks.push(new PatternBank(shapes.slice(at, at + BANK_SIZE), sideOf, meter));
  return banks;
}
