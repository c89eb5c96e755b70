/** Plain text as a model writes it, some numbers in it; no rule of the bench matches any of it. */
const TEXT = `The committee met on Tuesday to talk about the new library, and most of those who came were in favour of it. "We have waited for
eleven years," said one of them, "and in 2019 it was nearly built." The plan asks for 4,200 square metres on three floors; the rooms for
children are on the first. It isn't clear yet who will pay: the city has some money, the county a little more, and the rest must come from
people who read. Work could begin in spring, if the ground is dry enough, and would take about eighteen months. To sort a list in Python,
call \`sorted(items, key=lambda item: item.name)\`; it returns a new list and leaves the first one alone. `;

/** As a tokenizer cuts it: a word with the blank before it, long ones in two. 4 characters each at the mean. */
const PIECES: readonly string[] = TEXT.match(/ ?[A-Za-z]{1,7}|\s*[^A-Za-z\s]{1,3}|\s/g)!;
/** Whole words with the blank after them: none can grow, and so none can be held back as the beginning of a longer match. */
const WORDS: readonly string[] = TEXT.match(/\S+\s+/g)!.filter((word) => !/\d/.test(word));
/** Streams begin at different places, so that not all of them hold back the same word at once. */
const STREAM_OFFSET = 7;

/** The token of this index, from 0, of a stream. */
export function proseToken(stream: number, index: number): string {
  return PIECES[(stream * STREAM_OFFSET + index) % PIECES.length]!;
}

/** The same for tokens that are whole words. */
export function wordToken(stream: number, index: number): string {
  return WORDS[(stream * STREAM_OFFSET + index) % WORDS.length]!;
}

const SYLLABLES = "ba cor dren fi gul hem jo kra lin mot nes pra qui res sto tha un vel wor zi".split(" ");
const RADIX = SYLLABLES.length;
/** Coprime to the number of such words: none comes twice. */
const STRIDE = 7_919;

/** The number of different made-up words of four syllables, always the same: no text has them by chance. */
export function madeUpWords(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const number = (index * STRIDE) % RADIX ** 4;
    return [0, 1, 2, 3].map((place) => SYLLABLES[Math.floor(number / RADIX ** place) % RADIX]).join("");
  });
}
