/** A model writes tags, none, or only the closing one because its template has opened it. */
export type ThinkTagForm = boolean | "opened";

/** A piece of text, by what it is. */
export interface Thought {
  readonly reasoning: string;
  readonly text: string;
}

/** Tags that models write. */
const TAGS: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"],
  ["[THINK]", "[/THINK]"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["<THINK>", "</THINK>"],
  ["<seed:think>", "</seed:think>"],
  ["◁think▷", "◁/think▷"],
];

/**
 * Tells the reasoning that a model writes into its text, such as `<think>…</think>` at the start, from the answer after it. Blanks around the
 * tags belong to neither. A tag may be cut anywhere.
 */
export class ThinkTags {
  #place: "before" | "within" | "after" | "answer";
  #close = "</think>";
  #isEmpty = true;
  /** Text that may be the start of a tag, or blanks before one. */
  #held = "";

  /** @param isOpened whether the model's template has opened the tag, so that only its end comes. Default false */
  constructor(isOpened = false) {
    this.#place = isOpened ? "within" : "before";
  }

  take(piece: string): Thought {
    if (this.#place === "answer") return { reasoning: "", text: piece };
    let rest = this.#held + piece;
    this.#held = "";
    let reasoning = "";
    if (this.#place === "before") {
      const said = rest.trimStart();
      const tag = TAGS.find(([open]) => said.startsWith(open));
      if (tag) {
        [, this.#close] = tag;
        this.#place = "within";
        rest = said.slice(tag[0].length);
      } else if (TAGS.some(([open]) => open.startsWith(said))) {
        this.#held = rest;
        return { reasoning: "", text: "" };
      } else {
        this.#place = "answer";
        return { reasoning: "", text: rest };
      }
    }
    if (this.#place === "within") {
      if (this.#isEmpty) rest = rest.trimStart();
      if (rest !== "") this.#isEmpty = false;
      const end = rest.indexOf(this.#close);
      if (end === -1) {
        const kept = rest.length - heldLength(rest, this.#close);
        this.#held = rest.slice(kept);
        return { reasoning: rest.slice(0, kept), text: "" };
      }
      reasoning = rest.slice(0, end).trimEnd();
      rest = rest.slice(end + this.#close.length);
      this.#place = "after";
    }
    const text = rest.trimStart();
    if (text !== "") this.#place = "answer";
    return { reasoning, text };
  }

  /** Returns what was held back: it was no tag. */
  end(): Thought {
    const held = this.#held;
    this.#held = "";
    return this.#place === "within" ? { reasoning: held, text: "" } : { reasoning: "", text: held };
  }
}

/** The length of blanks at the end and of the start of a closing tag after them. */
function heldLength(text: string, close: string): number {
  for (let length = Math.min(close.length - 1, text.length); length > 0; length--) {
    if (!close.startsWith(text.slice(-length))) continue;
    const before = text.slice(0, -length);
    return length + before.length - before.trimEnd().length;
  }
  return text.length - text.trimEnd().length;
}
