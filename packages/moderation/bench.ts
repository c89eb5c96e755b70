/**
 * Measures the chunks that one core judges in a second of its time, and the text that is pending after each. 1,000,000 chunks of some 4.5 characters from 1,000
 * texts in turn. Run by `node packages/moderation/bench.ts`; the best of five runs is printed.
 */
import type { ModerationRule } from "@reprise/protocol";
import { mulberry32 } from "./src/rules/testing/draw.ts";
import { compileRuleSet } from "./src/rules/rule-set.ts";

const CHUNKS = 1_000_000;
const SCANNERS = 1_000;
const RUNS = 5;
const TERMS = 5_000;

const PROSE = `The committee met on Tuesday to talk about the new library, and most of those who came were in favour of it. "We have waited for
eleven years," said one of them, "and in 2019 it was nearly built." The plan asks for 4,200 square metres on three floors; the rooms for children are on
the first. It isn't clear yet who will pay: the city has some money, the county a little more, and the rest must come from people who read. Work
could begin in spring, if the ground is dry enough, and would take about eighteen months. Nobody spoke against it, although a few asked whether the old
building could not be mended instead. To sort a list in Python, call \`sorted(items, key=lambda item: item.name)\`; it returns a new list and leaves
the first one alone. The method list.sort() changes the list itself and returns None, which surprises nearly everybody once. `;

const PATTERNS: ModerationRule[] = [
  { pattern: String.raw`\bproject[ -](?:falcon|heron)\b` },
  { pattern: String.raw`\b[A-Z]{2}-\d{6}\b`, max_length: 16 },
  { pattern: String.raw`internal use only|do not distribute` },
];

const random = mulberry32(20_261_121);
const terms: ModerationRule = { terms: Array.from({ length: TERMS }, term) };
const sets: ModerationRule[] = ["cards", "secrets", "personal-data"];
const chunks = Array.from({ length: SCANNERS }, (_, at) => chunksFrom(at * 131));
const characters = chunks.reduce((sum, list) => sum + list.join("").length, 0);
print(`${CHUNKS} chunks, ${(characters / CHUNKS).toFixed(2)} characters each, ${SCANNERS} texts in turn`);

measure(`a) ${TERMS} terms`, [terms]);
measure("b) and the three built-in sets", [terms, ...sets]);
measure("c) and three patterns", [terms, ...sets, ...PATTERNS]);

function measure(title: string, rules: readonly ModerationRule[]): void {
  const set = compileRuleSet("bench", rules);
  let best = 0;
  let findings = 0;
  const pending = new Int32Array(CHUNKS);
  for (let run = 0; run < RUNS; run++) {
    const scanners = Array.from({ length: SCANNERS }, () => set.createScanner());
    findings = 0;
    const began = process.cpuUsage();
    for (let at = 0; at < CHUNKS / SCANNERS; at++)
      scanners.forEach((scanner, of) => {
        findings += scanner.push(chunks[of]?.[at] ?? "").length;
        pending[at * SCANNERS + of] = scanner.pending;
      });
    const { user, system } = process.cpuUsage(began);
    best = Math.max(best, CHUNKS / (user + system));
  }
  const sorted = pending.toSorted();
  const mean = sorted.reduce((sum, units) => sum + units, 0) / CHUNKS;
  print(
    `${title}: ${best.toFixed(2)} M chunks per second of one core; pending mean ${mean.toFixed(2)}, p99 ${sorted[CHUNKS * 0.99]}, max ${sorted.at(-1)}; ${findings} findings`,
  );
}

/** Pieces as a tokenizer makes them: a word with the blank before it, long ones in two. */
function chunksFrom(offset: number): string[] {
  const pieces =
    (PROSE.slice(offset % PROSE.length) + PROSE).match(/ ?[A-Za-z]{1,7}|\s*[^A-Za-z\s]{1,3}|\s/g) ?? [];
  return Array.from({ length: CHUNKS / SCANNERS }, (_, at) => pieces[at % pieces.length] ?? "");
}

/** A made-up word or two. */
function term(): string {
  const syllables = [
    "ba",
    "cor",
    "dren",
    "fi",
    "gul",
    "hem",
    "jo",
    "kra",
    "lin",
    "mot",
    "nes",
    "pra",
    "qui",
    "res",
    "sto",
    "tha",
    "un",
    "vel",
    "wor",
    "zi",
  ];
  const word = (): string =>
    Array.from(
      { length: 2 + Math.floor(random() * 3) },
      () => syllables[Math.floor(random() * syllables.length)],
    ).join("");
  return random() < 0.2 ? `${word()} ${word()}` : word();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
