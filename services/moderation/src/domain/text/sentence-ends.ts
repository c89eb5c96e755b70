/*
 * Where sentences end, told from the text alone, character by character: however the text is cut into pieces, the ends are the same.
 *
 * A full stop, question or exclamation mark ends a sentence once white space follows, with closing quotes and brackets between them at
 * most: "3.14" and "v1.2" end nothing. Nor does the full stop of an abbreviation. Scripts that are written without spaces have full
 * stops that end a sentence by themselves. A blank line always ends one.
 */

export interface SentenceEnds {
  /** Before which of these characters a sentence has ended, in order: 0 if the text before had the end, and the first one tells. */
  push(text: string): number[];
}

const MARKS = new Set(".!?…؟۔।॥።‼⁇⁈⁉");
const MARKS_WITHOUT_SPACE = new Set("。！？｡．");
const CLOSERS = new Set("\"'”’»›)]}*_`」』）】");
/** Words, in lower case, whose full stop does not end a sentence. Single letters too: "e.g.", "J. S. Bach". */
const ABBREVIATIONS = new Set(
  "approx cf corp dept dr etc fig inc jr ltd mr mrs ms nr prof rev sr st vol vs".split(" "),
);
const LONGEST_ABBREVIATION = 6;
const WHITE_SPACE = /\s/;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

export function createSentenceEnds(): SentenceEnds {
  let word = "";
  /** A mark was read, and after it closers at most. */
  let marked = false;
  /** A line break was read, and after it blanks at most. */
  let lineBroken = false;

  function readSpace(char: string): boolean {
    const ended = marked || (lineBroken && char === "\n");
    lineBroken ||= char === "\n";
    marked = false;
    word = "";
    return ended;
  }

  function readInk(char: string): void {
    lineBroken = false;
    if (MARKS.has(char)) marked = char !== "." || !isAbbreviation(word);
    else if (!CLOSERS.has(char)) marked = false;
    if (!LETTER_OR_DIGIT.test(char)) word = "";
    else if (word.length <= LONGEST_ABBREVIATION) word += char;
  }

  return {
    push(text) {
      const ends: number[] = [];
      for (let index = 0; index < text.length; index++) {
        // `index` is less than the text's length.
        const char = text[index]!;
        if (WHITE_SPACE.test(char)) {
          if (readSpace(char)) ends.push(index);
          continue;
        }
        readInk(char);
        if (MARKS_WITHOUT_SPACE.has(char)) ends.push(index + 1);
      }
      return ends;
    },
  };
}

function isAbbreviation(word: string): boolean {
  return /^\p{L}$/u.test(word) || ABBREVIATIONS.has(word.toLowerCase());
}
