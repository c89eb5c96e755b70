import { canonicalOf } from "./fold-table.ts";
import { edgeKey, type TermEnd, type TermTrie } from "./term-trie.ts";

/** The dense table's largest size, in entries of 4 bytes. Symbols beyond it take the slow way, by failure links. */
const MOST_ENTRIES = 8_000_000;

/** Approximate bytes of an entry of a map. */
const MAP_ENTRY_BYTES = 40;

/** Nodes that are linked before others have a turn, and the steps of each. */
const NODES_AT_ONCE = 256;
const STEPS_PER_NODE = 80;
/** Steps to copy a row. */
const ENTRIES_PER_STEP = 16;

/** Not in any term. */
const COLUMN_NONE = 0;
const COLUMN_RARE = 0xff_ff;
const UNITS = 0x1_00_00;

/**
 * Aho and Corasick's automaton, dense for the symbols that terms use most: a step is one look-up. A state is its node times
 * `stride`; a step's result is complemented (`~state`) where a term ends.
 *
 * Scripts with thousands of letters would make the dense table too large. Their rare letters are stepped through the trie's own edges
 * and the failure links instead, which costs more only where such a letter comes.
 */
export class TermAutomaton {
  readonly stride: number;
  /** The deepest node, in symbols. */
  readonly depth: number;
  /** Node to how many of the last symbols may still become a part of a match. */
  readonly #held: Uint16Array;
  readonly #columns = new Uint16Array(UNITS);
  readonly #next: Int32Array;
  readonly #rare = new Map<number, number>();
  readonly #fail: Int32Array;
  /** Node to the longest shorter node where a term ends; 0 for none. */
  readonly #suffix: Int32Array;
  readonly #ends: ReadonlyMap<number, readonly TermEnd[]>;

  private constructor(trie: TermTrie, columns: Columns) {
    const nodes = trie.parents.length;
    this.stride = columns.dense.size + 1;
    for (let symbol = 0; symbol < UNITS; symbol++) {
      const canonical = canonicalOf(symbol);
      this.#columns[symbol] =
        columns.dense.get(canonical) ?? (columns.rare.has(canonical) ? COLUMN_RARE : COLUMN_NONE);
    }
    this.#next = new Int32Array(nodes * this.stride);
    this.#fail = new Int32Array(nodes);
    this.#suffix = new Int32Array(nodes);
    this.#held = new Uint16Array(nodes);
    this.#ends = trie.ends;
    this.depth = trie.depths.reduce((most, depth) => Math.max(most, depth), 0);
  }

  /** Yields the steps that it has taken since it last did, every few thousand. */
  static *build(trie: TermTrie): Generator<number, TermAutomaton> {
    const columns = columnsFor(trie, Math.max(1, Math.floor(MOST_ENTRIES / trie.parents.length) - 1));
    const automaton = new TermAutomaton(trie, columns);
    // Fresh memory is touched for the first time, and the symbols were counted.
    yield trie.parents.length + UNITS;
    yield* automaton.#link(trie, columns.dense);
    return automaton;
  }

  /** The memory that it takes, roughly. */
  get bytes(): number {
    const perNode = this.#next.byteLength + 10 * this.#fail.length;
    return perNode + MAP_ENTRY_BYTES * (this.#rare.size + 4 * this.#ends.size);
  }

  /** @returns the next state, complemented where a term ends */
  step(state: number, symbol: number): number {
    const column = symbol < UNITS ? (this.#columns[symbol] as number) : COLUMN_RARE;
    return column === COLUMN_RARE ? this.#stepRare(state, symbol) : (this.#next[state + column] as number);
  }

  held(state: number): number {
    return this.#held[state / this.stride] as number;
  }

  /** The terms that end in a state, the longest first. */
  *endsAt(state: number): Generator<TermEnd> {
    for (let node = state / this.stride; node !== 0; node = this.#suffix[node] as number)
      yield* this.#ends.get(node) ?? [];
  }

  #stepRare(state: number, symbol: number): number {
    const canonical = canonicalOf(symbol);
    for (let node = state / this.stride; ; node = this.#fail[node] as number) {
      const target = this.#rare.get(edgeKey(node, canonical));
      if (target !== undefined) return this.#flagged(target);
      if (node === 0) return 0;
    }
  }

  #flagged(node: number): number {
    const state = node * this.stride;
    return this.#ends.has(node) || this.#suffix[node] !== 0 ? ~state : state;
  }

  /** Breadth first: a node's failure link is always shallower, so that its row is complete when it is copied. */
  *#link(trie: TermTrie, dense: ReadonlyMap<number, number>): Generator<number> {
    const { depths, parents, symbols, edges } = trie;
    const order = byDepth(depths, this.depth);
    const inner = new Set(parents);
    yield order.length;
    for (const [at, node] of order.entries()) {
      if (at % NODES_AT_ONCE === NODES_AT_ONCE - 1) yield NODES_AT_ONCE * STEPS_PER_NODE;
      if (node === 0) continue;
      const parent = parents[node] as number;
      const symbol = symbols[node] as number;
      const fail = parent === 0 ? 0 : this.#follow(edges, this.#fail[parent] as number, symbol);
      this.#fail[node] = fail;
      this.#suffix[node] = trie.ends.has(fail) ? fail : (this.#suffix[fail] as number);
      this.#held[node] = this.#mayGoOn(trie, inner, node)
        ? (depths[node] as number)
        : (this.#held[fail] as number);
      const column = dense.get(symbol);
      if (column === undefined) this.#rare.set(edgeKey(node === 0 ? 0 : parent, symbol), node);
    }
    const targets = new Map<number, [number, number][]>();
    for (const [at, node] of order.entries()) {
      if (at % NODES_AT_ONCE === NODES_AT_ONCE - 1) yield NODES_AT_ONCE * STEPS_PER_NODE;
      if (node === 0) continue;
      const column = dense.get(symbols[node] as number);
      if (column === undefined) continue;
      const parent = parents[node] as number;
      const list = targets.get(parent) ?? [];
      list.push([column, this.#flagged(node)]);
      targets.set(parent, list);
    }
    for (const [at, node] of order.entries()) {
      if (at % NODES_AT_ONCE === NODES_AT_ONCE - 1)
        yield NODES_AT_ONCE * (STEPS_PER_NODE + this.stride / ENTRIES_PER_STEP);
      const row = node * this.stride;
      const from = (this.#fail[node] as number) * this.stride;
      if (node !== 0) this.#next.copyWithin(row, from, from + this.stride);
      for (const [column, target] of targets.get(node) ?? []) this.#next[row + column] = target;
    }
  }

  #follow(edges: ReadonlyMap<number, number>, from: number, symbol: number): number {
    for (let node = from; ; node = this.#fail[node] as number) {
      const target = edges.get(edgeKey(node, symbol));
      if (target !== undefined) return target;
      if (node === 0) return 0;
    }
  }

  /** True if a node has children, or a term that waits for the character after it. */
  #mayGoOn(trie: TermTrie, inner: ReadonlySet<number>, node: number): boolean {
    return inner.has(node) || (trie.ends.get(node)?.some(({ rightBoundary }) => rightBoundary) ?? false);
  }
}

/** The nodes, shallow ones first. */
function byDepth(depths: readonly number[], deepest: number): Int32Array {
  const places = new Int32Array(deepest + 2);
  for (const depth of depths) (places[depth + 1] as number)++;
  for (let depth = 1; depth < places.length; depth++)
    (places[depth] as number) += places[depth - 1] as number;
  const order = new Int32Array(depths.length);
  for (const [node, depth] of depths.entries()) order[(places[depth] as number)++] = node;
  return order;
}

interface Columns {
  readonly dense: Map<number, number>;
  readonly rare: Set<number>;
}

/** The most used symbols get a column each; the others are rare. */
function columnsFor(trie: TermTrie, most: number): Columns {
  const uses = new Map<number, number>();
  for (const symbol of trie.symbols.slice(1)) uses.set(symbol, (uses.get(symbol) ?? 0) + 1);
  const ranked = [...uses].toSorted((a, b) => b[1] - a[1]).map(([symbol]) => symbol);
  const units = ranked.filter((symbol) => symbol < UNITS);
  const dense = new Map(
    units.slice(0, Math.min(most, COLUMN_RARE - 2)).map((symbol, at) => [symbol, at + 1]),
  );
  return { dense, rare: new Set(ranked.filter((symbol) => !dense.has(symbol))) };
}
