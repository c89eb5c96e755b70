/** Price of a regular expression in RE2's or ECMA-262's syntax, as far as its source tells. */
export interface PatternPrice {
  /** Instructions of the program that RE2 compiles it to, or more: a counted repetition multiplies those of its body. */
  readonly states: number;
  /** Number of them that are classes of Unicode (`\p{L}`), each of hundreds of ranges. */
  readonly unicodeStates: number;
  /** Cost of parsing its character classes without regard to case, in instructions; each class once. */
  readonly classWeight: number;
  /** The longest match, in characters. */
  readonly longest: number;
}

/** A part of a pattern. */
interface Piece {
  states: number;
  unicodeStates: number;
  longest: number;
}

/** An open group: its alternatives so far, and the one that grows. */
interface Group {
  readonly closed: Piece;
  readonly open: Piece;
  /** The part that a repetition would repeat; not in `open` yet. */
  last: Piece | undefined;
  readonly ownStates: number;
}

/** A class of Unicode has some 650 ranges, and folding visits each code point of a range: both in instructions that take as long to compile. */
const UNICODE_WEIGHT = 128;
const FOLDED_PER_STATE = 32;
/** Code points beyond this have no case. */
const LAST_FOLDED = 0x1_e9_43;
/** Larger values are clamped to this. */
const MOST = 1e9;
/** Every program begins with a failure and ends with a match. */
const FIXED_STATES = 2;

const COUNT = /\{(\d+)(?:(,)(\d*))?\}/y;
/** Names end within these lengths: without them a pattern full of openings would be read to its end at each. */
const UNICODE = /\\[pP](?:\{[^}]{0,64}\}|[^])?/y;
const POSIX = /\[:[^\]]{0,16}:\]/y;
/** The start of a group after its bracket: flags by themselves, or the kind of the group. */
const FLAGS = /\(\?[a-zA-Z]*(?:-[a-zA-Z]+)?\)/y;
const GROUP = /\((?:\?(?:P?<[^>=!]{0,64}>|<?[=!]|[a-zA-Z]*(?:-[a-zA-Z]+)?:))?/y;
const QUOTED = /\\Q([^]*?)(?:\\E|$)/y;
const CODE = /\\(?:x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4}))/y;
const ESCAPE = /\\[^]?/y;

/**
 * Prices a pattern in one pass over its source, without compiling it, in some microseconds for any pattern. A pattern that is wrong
 * has a price too.
 */
export function pricePattern(source: string): PatternPrice {
  return new Pricing(source).price();
}

class Pricing {
  readonly #source: string;
  readonly #groups: Group[] = [newGroup(0)];
  #at = 0;
  #classWeight = 0;

  constructor(source: string) {
    this.#source = source;
  }

  price(): PatternPrice {
    while (this.#at < this.#source.length) this.#readNext();
    while (this.#groups.length > 1) this.#close();
    const { states, unicodeStates, longest } = finish(this.#group);
    return { states: states + FIXED_STATES, unicodeStates, longest, classWeight: this.#classWeight };
  }

  get #group(): Group {
    return this.#groups.at(-1)!;
  }

  #readNext(): void {
    switch (this.#source[this.#at]) {
      case "(":
        return this.#open();
      case ")":
        this.#at++;
        return this.#groups.length > 1 ? this.#close() : this.#add(1, 1);
      case "|":
        this.#at++;
        return endAlternative(this.#group);
      case "*":
        return this.#repeat(1, 0, Number.POSITIVE_INFINITY);
      case "+":
        return this.#repeat(1, 1, Number.POSITIVE_INFINITY);
      case "?":
        return this.#repeat(1, 0, 1);
      case "{":
        return this.#count();
      case "[":
        return this.#readClass();
      case "\\":
        return this.#escape();
      case "^":
      case "$":
        this.#at++;
        return this.#add(1, 0);
      default:
        this.#at++;
        return this.#add(1, 1);
    }
  }

  /** Consumes a match at the current position. */
  #take(what: RegExp): RegExpExecArray | undefined {
    what.lastIndex = this.#at;
    const match = what.exec(this.#source);
    if (match === null) return undefined;
    this.#at = what.lastIndex;
    return match;
  }

  #add(states: number, longest: number, unicodeStates = 0): void {
    commit(this.#group);
    this.#group.last = { states, unicodeStates, longest };
  }

  #open(): void {
    if (this.#take(FLAGS)) return;
    const [text = "("] = this.#take(GROUP) ?? [];
    // A bracket alone, or with a name, captures.
    this.#groups.push(newGroup(text === "(" || text.endsWith(">") ? 2 : 0));
  }

  #close(): void {
    const closed = this.#groups.pop()!;
    const { states, unicodeStates, longest } = finish(closed);
    this.#add(states + closed.ownStates, longest, unicodeStates);
  }

  #count(): void {
    const [text, least = "", comma, most = ""] = this.#take(COUNT) ?? [];
    if (text === undefined) {
      this.#at++;
      return this.#add(1, 1);
    }
    const from = Number(least);
    const to = comma === undefined ? from : most === "" ? Number.POSITIVE_INFINITY : Number(most);
    return this.#repeat(0, from, to);
  }

  /** @param length of the sign, where the count has not been read already */
  #repeat(length: number, least: number, most: number): void {
    this.#at += length;
    const { last } = this.#group;
    // Nothing to repeat: a pattern that is wrong, or the sign that a repetition is not greedy.
    if (last === undefined) return;
    const isOpen = most === Number.POSITIVE_INFINITY;
    const copies = Math.min(isOpen ? Math.max(least, 1) : most, MOST);
    const choices = isOpen ? 2 : Math.max(0, copies - least);
    last.states = Math.min(Math.max(1, copies * last.states + choices), MOST);
    last.unicodeStates = Math.min(copies * last.unicodeStates, MOST);
    last.longest = most === 0 || last.longest === 0 ? 0 : last.longest * most;
  }

  #escape(): void {
    const quoted = this.#take(QUOTED);
    if (quoted) {
      for (let left = quoted[1]!.length; left > 0; left--) this.#add(1, 1);
      return;
    }
    if (this.#take(UNICODE)) {
      this.#classWeight += UNICODE_WEIGHT;
      return this.#add(1, 1, 1);
    }
    if (this.#take(CODE)) return this.#add(1, 1);
    const [text = ""] = this.#take(ESCAPE) ?? [];
    return this.#add(1, /\\[bBAzZ]/.test(text) ? 0 : 1);
  }

  #readClass(): void {
    this.#at++;
    if (this.#source[this.#at] === "^") this.#at++;
    let isUnicode = false;
    let low: number | undefined;
    let isRange = false;
    // The first bracket is one of the class.
    for (let isFirst = true; this.#at < this.#source.length; isFirst = false) {
      if (this.#source[this.#at] === "]" && !isFirst) break;
      if (this.#source[this.#at] === "-" && low !== undefined && !isRange) {
        isRange = true;
        this.#at++;
        continue;
      }
      const member = this.#readMember();
      if (member === "unicode") isUnicode = true;
      const point = typeof member === "number" ? member : undefined;
      if (isRange && low !== undefined && point !== undefined)
        this.#classWeight += Math.max(0, Math.min(point, LAST_FOLDED) - low) / FOLDED_PER_STATE;
      low = isRange ? undefined : point;
      isRange = false;
    }
    this.#at++;
    if (isUnicode) this.#classWeight += UNICODE_WEIGHT;
    this.#add(1, 1, isUnicode ? 1 : 0);
  }

  /** @returns the code point that a range may begin or end with, or which kind of class it is */
  #readMember(): number | "unicode" | "class" {
    if (this.#take(POSIX)) return "class";
    if (this.#take(UNICODE)) return "unicode";
    const code = this.#take(CODE);
    if (code)
      return Number.parseInt(
        code.slice(1).find((digits) => digits !== undefined)!,
        16,
      );
    const escape = this.#take(ESCAPE);
    if (escape) return /[dDsSwW]/.test(escape[0]) ? "class" : (escape[0].codePointAt(1) ?? 0);
    const point = this.#source.codePointAt(this.#at)!;
    this.#at += point > 0xff_ff ? 2 : 1;
    return point;
  }
}

function newGroup(ownStates: number): Group {
  return { closed: newPiece(), open: newPiece(), last: undefined, ownStates };
}

function newPiece(): Piece {
  return { states: 0, unicodeStates: 0, longest: 0 };
}

/** Puts what can't be repeated any more to its alternative. */
function commit(group: Group): void {
  const { open, last } = group;
  if (last === undefined) return;
  open.states += last.states;
  open.unicodeStates += last.unicodeStates;
  open.longest += last.longest;
  group.last = undefined;
}

/** An alternative costs an instruction that chooses, and one where it is empty. */
function endAlternative(group: Group): void {
  commit(group);
  const { closed, open } = group;
  closed.states += Math.max(1, open.states) + 1;
  closed.unicodeStates += open.unicodeStates;
  closed.longest = Math.max(closed.longest, open.longest);
  Object.assign(open, newPiece());
}

function finish(group: Group): Piece {
  endAlternative(group);
  return { ...group.closed, states: group.closed.states - 1 };
}
