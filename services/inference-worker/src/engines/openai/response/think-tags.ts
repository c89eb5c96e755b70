/** A piece of text, by what it is. */
export interface Thought {
  readonly reasoning: string;
  readonly text: string;
}

const OPEN = "<think>";
const CLOSE = "</think>";

/**
 * Tells the reasoning that a model writes into its text, `<think>…</think>` at the start, from the answer after it. Blanks around the
 * tags belong to neither. A tag may be cut anywhere.
 */
export class ThinkTags {
  #place: "before" | "within" | "after" | "answer" = "before";
  /** What may be the start of a tag, or blanks before one. */
  #held = "";

  take(piece: string): Thought {
    if (this.#place === "answer") return { reasoning: "", text: piece };
    let rest = this.#held + piece;
    this.#held = "";
    let reasoning = "";
    if (this.#place === "before") {
      const said = rest.trimStart();
      if (said.startsWith(OPEN)) {
        this.#place = "within";
        rest = said.slice(OPEN.length).trimStart();
      } else if (OPEN.startsWith(said)) {
        this.#held = rest;
        return { reasoning: "", text: "" };
      } else {
        this.#place = "answer";
        return { reasoning: "", text: rest };
      }
    }
    if (this.#place === "within") {
      const end = rest.indexOf(CLOSE);
      if (end === -1) {
        const kept = rest.length - heldLength(rest);
        this.#held = rest.slice(kept);
        return { reasoning: rest.slice(0, kept), text: "" };
      }
      reasoning = rest.slice(0, end).trimEnd();
      rest = rest.slice(end + CLOSE.length);
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
function heldLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (!CLOSE.startsWith(text.slice(-length))) continue;
    const before = text.slice(0, -length);
    return length + before.length - before.trimEnd().length;
  }
  return text.length - text.trimEnd().length;
}
