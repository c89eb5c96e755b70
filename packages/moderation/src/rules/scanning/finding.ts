import type { ModerationAction } from "@reprise/protocol";

/** A finding of a rule, reported once, as soon as no further text can change it. */
export interface RuleFinding {
  rule: string;
  category: string;
  action: ModerationAction;
  /** UTF-16 offsets of the text since the scanner began: `from` inclusive, `to` exclusive. */
  from: number;
  to: number;
}

/** The rule's part of its findings. */
export type RuleLabel = Pick<RuleFinding, "rule" | "category" | "action">;

/** Shared by everyone who finds nothing, which is nearly always. */
export const NO_FINDINGS: readonly RuleFinding[] = Object.freeze([]);

/** Judges one text while it grows. How the text is cut into pieces, even between surrogates, makes no difference. */
export interface Scanner {
  /** @returns what became certain with this piece; one shared empty array where that is nothing */
  push(text: string): readonly RuleFinding[];
  /**
   * Decides what waits for a next character as if none came, for a reader that has to be shown the text now. Text may follow all the
   * same: it is judged together with what came before, and what was said here is not said again. `pending` stays what it is.
   */
  settle(): readonly RuleFinding[];
  /** The text is complete: what waited for a next character is decided. Nothing may be pushed after it. */
  end(): readonly RuleFinding[];
  /** Number of UTF-16 units at the end of the text that may still become a part of a finding; 0 after `end`. */
  readonly pending: number;
  /** Number of UTF-16 units that were pushed. */
  readonly length: number;
}

/** One part of a scanner, which judges symbols by one method. */
export interface Detector {
  feed(chunk: SymbolChunk): void;
  /** One that has read the same, and reports to the same place. */
  fork(): Detector;
  /** The text is complete. */
  end(): void;
  /** From which offset on text may still become a part of a finding; `NOTHING_HELD` where none may. */
  heldFrom(): number;
}

export const NOTHING_HELD = Number.MAX_SAFE_INTEGER;

/** Symbols of a piece of text, with the UTF-16 offsets where each begins and ends. Only the first `count` are valid. */
export interface SymbolChunk {
  readonly symbols: Int32Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly count: number;
}

/** The action on a finding if the rule has none. */
export const DEFAULT_ACTION = "redact";
