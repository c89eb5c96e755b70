import { BLANK, canonicalOf, isWordSymbol, takesNoMarks, WORD, wordBits } from "./fold-table.ts";
import { codePointOf } from "./side.ts";
import { SLICE_UNITS, type SymbolBuffer } from "./symbol-buffer.ts";

/** A term where it ends in the trie. */
export interface TermEnd {
  /** Which of the rule set's rules. */
  rule: number;
  /** In symbols. */
  length: number;
  /** True if the text before, or after, must not continue with a part of a word. */
  leftBoundary: boolean;
  rightBoundary: boolean;
}

const CODE_POINTS = 0x11_00_00;

/** The key of an edge: from which node, with which symbol. */
export function edgeKey(node: number, symbol: number): number {
  return node * CODE_POINTS + symbol;
}

/** The terms' symbols as a tree; node 0 is the root. */
export class TermTrie {
  readonly edges = new Map<number, number>();
  readonly parents = [0];
  readonly symbols = [0];
  readonly depths = [0];
  readonly ends = new Map<number, TermEnd[]>();

  add(symbols: readonly number[], rule: number, match: "word" | "anywhere"): void {
    let node = 0;
    for (const symbol of symbols) node = this.#child(node, symbol);
    const ends = this.ends.get(node) ?? [];
    if (ends.some((end) => end.rule === rule)) return;
    ends.push({
      rule,
      length: symbols.length,
      leftBoundary: match === "word" && isWordSymbol(symbols[0] as number),
      rightBoundary: match === "word" && isWordSymbol(symbols.at(-1) as number),
    });
    this.ends.set(node, ends);
  }

  #child(node: number, symbol: number): number {
    const key = edgeKey(node, symbol);
    const known = this.edges.get(key);
    if (known !== undefined) return known;
    const made = this.parents.length;
    this.edges.set(key, made);
    this.parents.push(node);
    this.symbols.push(symbol);
    this.depths.push((this.depths[node] as number) + 1);
    return made;
  }
}

/** Greek letters whose capitals look like other Latin letters than their small ones do. */
const TWO_FACED = /[ηνυ]/iu;

/** A term as it may be written: where case makes other symbols of it, in each. */
export function termForms(term: string): string[] {
  if (!TWO_FACED.test(term.normalize("NFD"))) return [term];
  const lower = term.toLowerCase();
  const title = lower.replaceAll(/(?<!\p{L}\p{M}*)\p{L}/gu, (letter) => letter.toUpperCase());
  return [...new Set([term, lower, title, term.toUpperCase()])];
}

/**
 * Returns a term in canonical symbols: without blanks at its ends, a run of white space as one, no mark after a symbol that takes none; just as a
 * scanner reads a text. A mark at the term's beginning belongs to the text's letter before it. Empty if nothing counts.
 */
export function termSymbols(term: string, buffer: SymbolBuffer): number[] {
  const symbols: number[] = [];
  let high = 0;
  let last: number | undefined;
  for (let from = 0; from < term.length; from += SLICE_UNITS) {
    high = buffer.fold(term, from, Math.min(from + SLICE_UNITS, term.length), 0, high);
    for (let at = 0; at < buffer.count; at++) {
      const read = codePointOf(buffer.symbols[at] as number);
      const symbol = canonicalOf(read);
      if (last !== undefined) {
        if (takesNoMarks(last) && wordBits(read) >= WORD.mark) continue;
        if (symbol === BLANK && canonicalOf(last) === BLANK) continue;
      }
      last = read;
      if (symbol !== BLANK || symbols.length > 0) symbols.push(symbol);
    }
  }
  if (high !== 0) symbols.push(high);
  if (symbols.at(-1) === BLANK) symbols.pop();
  return symbols;
}
