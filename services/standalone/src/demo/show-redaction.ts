import { createClient, type GenerationStream } from "@reprise/client";
import { Transcript } from "@reprise/protocol";
import type { DemoPlatform } from "./demo-platform.ts";

interface Output {
  write(text: string): unknown;
}

const CARD = "4111 1111 1111 1111";
/** The number comes in five events, none of which has enough of it to be recognised by. */
const CHUNKS = [
  "Yes",
  ", the",
  " card",
  " is",
  " 4111",
  " 1111",
  " 11",
  "11 1",
  "111",
  ", and",
  " it",
  " works",
  ".",
];
/** The end of the text that the leaving reader sees before it leaves. */
const LEAVES_AT = "4111 1111";
const DIGITS = /\d{2}/;
const SHOWN = CHUNKS.join("").replace(CARD, "[redacted]");

/** A generation that was read, and by how many connections: each was handed events, or text of them. */
export interface ShownGeneration {
  readonly id: string;
  readonly connections: number;
}

/** A reader's text, its number of events, and true if a digit of the card was in any of them. */
interface Seen {
  text: string;
  events: number;
  hadDigits: boolean;
}

/**
 * The simulator says a card number. With `retract` one reader sees it come and go; one who had digits and comes back, one who comes late
 * and the generation itself have the text without it. With `gate` no reader sees a digit. Returns whether all of that was seen,
 * and the first generation.
 */
export async function showRedaction(
  { url, apiKey }: DemoPlatform,
  out: Output,
): Promise<ShownGeneration & { ok: boolean }> {
  const { generations } = createClient({ url, apiKey });
  const run = (mode: "retract" | "gate") =>
    generations.run({
      model: "sim",
      input: "Which card was it?",
      options: { chunks: CHUNKS, tokens_per_second: 20 },
      // A reader is handed each piece of the number before the next is said.
      policy: { moderation: { mode, rules: ["cards"] }, pace: { max_lead_tokens: 2 } },
    });

  out.write("\n> Which card was it?     (by the simulator; mode retract, rule cards)\n\n  ");
  const stream = run("retract");
  const early = new Transcript();
  let leaving: Promise<string | undefined> | undefined;
  const live = await follow(stream, {
    transcript: new Transcript(),
    onText(text, isNew) {
      // A stream that has had an event knows its generation.
      leaving ??= leaveMidway(generations.stream(stream.id!), early);
      out.write(isNew ? text : `\n  \u27f2 ${text}`);
    },
  });
  out.write("\n\n");
  const cursor = await leaving;
  const { id } = stream;
  if (id === undefined || cursor === undefined) throw new Error("The simulator has said nothing.");
  const back = await follow(generations.stream(id, { after: cursor }), { transcript: early });
  const late = await follow(generations.stream(id));
  const { text: stored } = await generations.get(id);
  const gated = await follow(run("gate"));

  const rows: [name: string, ok: boolean, text: string][] = [
    ["who saw it, and saw it withdrawn", live.hadDigits && live.text === SHOWN, live.text],
    [`who left at "${LEAVES_AT}" and resumed`, !back.hadDigits && back.text === SHOWN, back.text],
    ["who came late", !late.hadDigits && late.text === SHOWN, late.text],
    ["who asks for the generation", stored === SHOWN, stored],
    ["who reads the same in mode gate, live", !gated.hadDigits && gated.text === SHOWN, gated.text],
  ];
  for (const [name, ok, text] of rows)
    out.write(`  ${name.padEnd(42)}${ok ? "" : "NOT as it should be: "}${text}\n`);
  // The call for the generation and the reader that left are counted apart. A reader that resumed after the end was sent nothing.
  const handed = [live, back, late].filter(({ events }) => events > 0);
  return { ok: rows.every(([, ok]) => ok), id, connections: handed.length + 2 };
}

interface FollowOptions {
  /** The reader's text so far. */
  readonly transcript?: Transcript;
  /** Called for each new piece of text, and for the whole text where it has changed otherwise. */
  readonly onText?: (text: string, isNew: boolean) => void;
}

async function follow(stream: GenerationStream, options: FollowOptions = {}): Promise<Seen> {
  const { transcript = new Transcript(), onText } = options;
  const seen: Seen = { text: "", events: 0, hadDigits: false };
  for await (const event of stream) {
    seen.events++;
    const before = transcript.text;
    transcript.apply(event);
    const { text } = transcript;
    if (event.type === "output.delta") seen.hadDigits ||= DIGITS.test(event.text);
    if (text !== before)
      onText?.(text.startsWith(before) ? text.slice(before.length) : text, text.startsWith(before));
  }
  return { ...seen, text: transcript.text };
}

/** Reads until the first digits are there, and goes. Returns where to come back to. */
async function leaveMidway(stream: GenerationStream, transcript: Transcript): Promise<string | undefined> {
  for await (const event of stream) {
    transcript.apply(event);
    if (transcript.text.includes(LEAVES_AT)) break;
  }
  return stream.cursor;
}
