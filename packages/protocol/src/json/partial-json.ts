import type { JsonValue } from "../json-object.ts";

/** Maximum nesting depth of containers: readers of the value recurse. */
const MAX_DEPTH = 512;

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
/** An open container, and the position in it of the value that is open or comes next. */
interface Frame {
  readonly container: JsonValue[] | Record<string, JsonValue>;
  key: string | number;
}

/** State of the parser: the meaning of the next character. `first…`: it may also end the container that was just opened. */
type Mode =
  | "value"
  | "firstItem"
  | "firstKey"
  | "key"
  | "name"
  | "colon"
  | "string"
  | "word"
  | "comma"
  | "end"
  | "failed";

/**
 * Parses a JSON text that is still being written, to its value so far. The value has closed scalars, containers as far as they are written, and an open string
 * up to its last whole escape and surrogate pair. It leaves out an open number, word or field name. So the value is valid JSON at every moment, it only grows,
 * and at the end it equals the result of `JSON.parse`.
 *
 * Each character is read once, however the text is split into pushes, except for a few at the end of a push, which an escape may need. The value is one tree
 * that grows in place: a reader that needs a copy makes it.
 */
export class PartialJson {
  #root: JsonValue | undefined;
  #frames: Frame[] = [];
  #mode: Mode = "value";
  /** Text of the open string or word; a rope, so that adding costs no copy. */
  #text = "";
  /** The end of the last push that can't be read yet: a part of an escape, or half of a surrogate pair. */
  #held = "";
  /** Number of characters before the text in hand. */
  #read = 0;
  #error: number | undefined;

  /** Undefined before the first value has begun. The same object each time, where it is one. */
  get value(): JsonValue | undefined {
    return this.#root;
  }

  /** True if the value is complete; only white space may follow. */
  get isComplete(): boolean {
    return this.#mode === "end";
  }

  /** Where the text is no JSON, in UTF-16 code units from its begin, or nests more than 512 deep. The value stays as it was before. */
  get error(): number | undefined {
    return this.#error;
  }

  /** Takes more of the text. What follows an error is ignored. */
  push(text: string): void {
    if (this.#mode === "failed") return;
    const all = this.#held + text;
    this.#read -= this.#held.length;
    this.#held = "";
    let at = 0;
    while (at < all.length && !this.#hasFailed()) {
      if (this.#mode === "string" || this.#mode === "name") at = this.#readString(all, at);
      else if (this.#mode === "word") at = this.#readWord(all, at);
      else at = this.#readSign(all, at);
    }
    this.#read += all.length;
    if (this.#mode === "string") this.#put(this.#text);
  }

  /** The text is whole: a number that nothing encloses has no other end. */
  finish(): void {
    if (this.#mode === "word" && this.#frames.length === 0) this.#endWord(this.#read);
  }

  /** Begins again, with another tree. */
  reset(): void {
    this.#root = undefined;
    this.#frames = [];
    this.#mode = "value";
    this.#text = "";
    this.#held = "";
    this.#read = 0;
    this.#error = undefined;
  }

  #hasFailed(): boolean {
    return this.#mode === "failed";
  }

  /** Keeps the open string's text before the invalid character, however the text is split into pushes. */
  #fail(at: number): number {
    if (this.#mode === "string") this.#put(this.#text);
    this.#mode = "failed";
    this.#error = at;
    return at;
  }

  /** Reads one character between strings and words. */
  #readSign(text: string, at: number): number {
    const sign = text[at]!;
    if (sign === " " || sign === "\n" || sign === "\r" || sign === "\t") return at + 1;
    switch (this.#mode) {
      case "firstItem":
        if (sign === "]") return this.#close(at);
        return this.#begin(sign, at);
      case "value":
        return this.#begin(sign, at);
      case "firstKey":
        if (sign === "}") return this.#close(at);
        return this.#beginName(sign, at);
      case "key":
        return this.#beginName(sign, at);
      case "colon":
        if (sign !== ":") return this.#fail(this.#read + at);
        this.#mode = "value";
        return at + 1;
      case "comma":
        return this.#continue(sign, at);
      default:
        return this.#fail(this.#read + at);
    }
  }

  #begin(sign: string, at: number): number {
    switch (sign) {
      case "{":
        return this.#open({}, "firstKey", at);
      case "[":
        return this.#open([], "firstItem", at);
      case '"':
        this.#mode = "string";
        this.#text = "";
        return at + 1;
      default:
        if (!isOfWord(sign)) return this.#fail(this.#read + at);
        this.#mode = "word";
        this.#text = "";
        return at;
    }
  }

  #beginName(sign: string, at: number): number {
    if (sign !== '"') return this.#fail(this.#read + at);
    this.#mode = "name";
    this.#text = "";
    return at + 1;
  }

  #open(container: Frame["container"], mode: Mode, at: number): number {
    if (this.#frames.length === MAX_DEPTH) return this.#fail(this.#read + at);
    this.#put(container);
    this.#frames.push({ container, key: 0 });
    this.#mode = mode;
    return at + 1;
  }

  /** After a value that a container holds. */
  #continue(sign: string, at: number): number {
    const frame = this.#frames.at(-1)!;
    const isList = Array.isArray(frame.container);
    if (sign === (isList ? "]" : "}")) return this.#close(at);
    if (sign !== ",") return this.#fail(this.#read + at);
    if (isList) frame.key = frame.container.length;
    this.#mode = isList ? "value" : "key";
    return at + 1;
  }

  #close(at: number): number {
    this.#frames.pop();
    this.#endValue();
    return at + 1;
  }

  #endValue(): void {
    this.#mode = this.#frames.length === 0 ? "end" : "comma";
  }

  /** Reads on to the end of a string, of an escape that is whole, or of the text. */
  #readString(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#text += text.slice(from, at);
        this.#endString();
        return at + 1;
      }
      if (code === BACKSLASH) {
        this.#text += text.slice(from, at);
        return this.#readEscape(text, at);
      }
      if (code < SPACE) {
        this.#text += text.slice(from, at);
        return this.#fail(this.#read + at);
      }
    }
    const end = isHigh(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    this.#text += text.slice(from, end);
    this.#held = text.slice(end);
    return text.length;
  }

  /** Reads an escape, or two that are one character, or holds them back. */
  #readEscape(text: string, at: number): number {
    const sign = text[at + 1];
    if (sign === undefined) return this.#hold(text, at);
    if (sign !== "u") {
      const escaped = ESCAPED[sign];
      if (escaped === undefined) return this.#fail(this.#read + at);
      this.#text += escaped;
      return at + 2;
    }
    const code = toCode(text.slice(at + 2, at + 6));
    if (code === "wrong") return this.#fail(this.#read + at);
    if (code === "open") return this.#hold(text, at);
    const next = at + 6;
    if (isHigh(code) && mayPair(text.slice(next, next + 6))) return this.#hold(text, at);
    this.#text += String.fromCharCode(code);
    if (!isHigh(code) || text[next] !== "\\" || text[next + 1] !== "u") return next;
    const low = toCode(text.slice(next + 2, next + 6));
    if (typeof low !== "number" || !isLow(low)) return next;
    this.#text += String.fromCharCode(low);
    return next + 6;
  }

  #hold(text: string, at: number): number {
    this.#held = text.slice(at);
    return text.length;
  }

  #endString(): void {
    if (this.#mode === "name") {
      this.#frames.at(-1)!.key = this.#text;
      this.#mode = "colon";
      return;
    }
    this.#put(this.#text);
    this.#endValue();
  }

  #readWord(text: string, from: number): number {
    let at = from;
    while (at < text.length && isOfWord(text[at]!)) at++;
    this.#text += text.slice(from, at);
    if (at < text.length) this.#endWord(this.#read + at);
    return at;
  }

  #endWord(end: number): void {
    const value = toScalar(this.#text);
    if (value === undefined) {
      this.#fail(end - this.#text.length);
      return;
    }
    this.#put(value);
    this.#endValue();
  }

  #put(value: JsonValue): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) this.#root = value;
    else if (Array.isArray(frame.container)) frame.container[frame.key as number] = value;
    else if (frame.key === "__proto__") {
      Object.defineProperty(frame.container, frame.key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    } else frame.container[frame.key] = value;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

function isOfWord(sign: string): boolean {
  return (sign >= "0" && sign <= "9") || (sign >= "a" && sign <= "z") || "+-.E".includes(sign);
}

function toScalar(word: string): JsonValue | undefined {
  if (word === "null") return null;
  if (word === "true" || word === "false") return word === "true";
  return NUMBER.test(word) ? Number(word) : undefined;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Returns the code unit of the four digits after `\u`. */
function toCode(digits: string): number | "open" | "wrong" {
  if (!/^[0-9a-fA-F]*$/.test(digits)) return "wrong";
  return digits.length < 4 ? "open" : Number.parseInt(digits, 16);
}

/** Returns true if the text after the first half of a pair may begin the escape of its second half. */
function mayPair(next: string): boolean {
  return next.length < 6 && /^(\\(u[0-9a-fA-F]*)?)?$/.test(next);
}
