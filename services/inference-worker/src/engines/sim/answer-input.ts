import { crc32 } from "node:zlib";
import {
  bytesPerSecond,
  type InputFormat,
  type InputRecord,
  parseSimOptions,
  RepriseError,
  type Seq,
  type SimOptions,
} from "@reprise/protocol";
import {
  countText,
  type EngineEvent,
  type EngineRequest,
  type GenerateOptions,
  type TextEvent,
} from "../engine.ts";
import { type Clock, Schedule } from "./clock.ts";
import { type TokenSource, toTokenSource } from "./sim-tokens.ts";

const WORDS_PER_SECOND = 10;
/** Words of an item of captions that are revised. */
const ITEM_WORDS = 5;
/** Changes what a word is made of into what its guess is made of. */
const GUESS = 0x5a5a5a5a;

/**
 * Answers input while it comes. The text is a function of the input alone, however that is cut into records: a run that was continued has the same text as one
 * that was not. A record of text counts as a token.
 * @throws RepriseError `invalid_request` for an answer that the format does not have
 */
export async function* answerInput(
  clock: Clock,
  request: EngineRequest,
  { turns, prefix, signal, input }: GenerateOptions,
): AsyncGenerator<EngineEvent> {
  const options = parseSimOptions(request);
  const format = request.input_stream?.format ?? "text";
  const { answer = format === "text" ? "echo" : "caption", revise = false } = options;
  if ((answer === "caption") !== (format !== "text")) throw refused("answer", answer, format);
  if (revise && answer !== "caption") throw refused("revise", answer, format);
  const said = countText({ turns, prefix });
  const wordBytes = Math.floor((bytesPerSecond(format) ?? WORDS_PER_SECOND) / WORDS_PER_SECOND);
  const source = toTokenSource(options, request.seed);
  const captions = new Captions(source, { wordBytes, words: said, revise });
  const replies = new Replies(clock, signal, { ...options, seed: options.seed ?? request.seed });
  const toOutput = (record: InputRecord) => {
    if (answer === "caption") return captions.hear(record);
    return answer === "reply" ? replies.hear(record) : echo(record, answer);
  };
  const most = request.max_output_tokens ?? Number.POSITIVE_INFINITY;
  let tokens = said;
  for await (const record of input ?? []) {
    for await (const event of toOutput(record)) {
      const { tokens: more = 1 } = event;
      if (more > 0 && tokens >= most) {
        yield { type: "finish", reason: "length" };
        return;
      }
      tokens += more;
      yield event;
      signal.throwIfAborted();
    }
  }
  yield { type: "finish", reason: "stop" };
}

function refused(option: string, answer: string, format: InputFormat): RepriseError {
  const param = `options.${option}`;
  return new RepriseError("invalid_request", `${param}: ${answer} does not answer input of ${format} so`, {
    param,
  });
}

function* echo({ entry, seq }: InputRecord, answer: "echo" | "upper"): Generator<TextEvent> {
  if (entry.type !== "input.delta") return;
  const text = answer === "upper" ? entry.text.toUpperCase() : entry.text;
  // Rules may have left nothing of it.
  yield { type: "text", text, consumed: seq, ...(text === "" && { tokens: 0 }) };
}

/** Answers to messages: each is a function of the seed and its message. */
class Replies {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #options: SimOptions;
  /** The message since the last commit. */
  #message = "";

  constructor(clock: Clock, signal: AbortSignal, options: SimOptions) {
    this.#clock = clock;
    this.#signal = signal;
    this.#options = options;
  }

  async *hear({ entry, seq }: InputRecord): AsyncGenerator<TextEvent> {
    if (entry.type === "input.delta") this.#message += entry.text;
    if (entry.type === "input.commit" && this.#message !== "") yield* this.#reply(this.#message, seq);
    if (entry.type === "input.commit" || entry.type === "input.clear") this.#message = "";
  }

  async *#reply(message: string, commit: Seq): AsyncGenerator<TextEvent> {
    const { seed = 0 } = this.#options;
    const source = toTokenSource({ ...this.#options, seed: seed ^ crc32(message) }, undefined);
    using schedule = new Schedule(this.#clock, this.#signal, this.#options);
    for (let i = 0; i < source.count; i++) {
      await schedule.untilDue(i);
      const last = i === source.count - 1 && { consumed: commit };
      yield { type: "text", text: source.tokenAt(i), item: commit, final: true, ...last };
    }
  }
}

/** Words made up of sound: the n-th is a function of the n-th stretch of bytes. */
class Captions {
  readonly #source: TokenSource;
  readonly #wordBytes: number;
  readonly #revise: boolean;
  #words: number;
  /** Words of the item that is not final yet, and the last record that they take account of. */
  #guessed: string[] = [];
  #consumed: Seq | undefined;
  /** Sound that no word was made of yet, and where it begins in all of the input. */
  #sound = Buffer.alloc(0);
  #at: number | undefined;
  /** Where the records end that have sound in it. */
  #records: { readonly seq: Seq; readonly end: number }[] = [];

  /** @param words that were made before, of the same input */
  constructor(
    source: TokenSource,
    { wordBytes, words, revise }: { wordBytes: number; words: number; revise: boolean },
  ) {
    this.#source = source;
    this.#wordBytes = wordBytes;
    this.#words = words;
    this.#revise = revise;
  }

  *hear({ seq, at, entry }: InputRecord): Generator<TextEvent> {
    this.#at ??= at;
    if (entry.type === "input.audio") {
      this.#sound = Buffer.concat([this.#sound, entry.audio]);
      this.#records.push({ seq, end: at + entry.audio.length });
    }
    const isEnd = entry.type === "input.end";
    for (;;) {
      const begin = this.#words * this.#wordBytes;
      const sound = this.#sound.subarray(Math.max(0, begin - this.#at));
      if (sound.length < (isEnd ? 1 : this.#wordBytes)) break;
      const word = sound.subarray(0, this.#wordBytes);
      this.#sound = sound.subarray(word.length);
      this.#at = begin + word.length;
      this.#consumed = this.#forget(this.#at) ?? this.#consumed;
      yield* this.#say(crc32(word));
    }
    if (isEnd && this.#guessed.length > 0) yield* this.#settle();
  }

  *#say(made: number): Generator<TextEvent> {
    const text = this.#source.tokenAt(made);
    const item = Math.floor(this.#words++ / ITEM_WORDS) + 1;
    if (!this.#revise) {
      yield { type: "text", text, ...this.#takeConsumed() };
      return;
    }
    this.#guessed.push(text);
    yield { type: "text", text: this.#source.tokenAt(made ^ GUESS), item };
    if (this.#words % ITEM_WORDS === 0) yield* this.#settle();
  }

  /** Says the item as it stays. */
  *#settle(): Generator<TextEvent> {
    const [text, tokens] = [this.#guessed.join(""), this.#guessed.length];
    const item = Math.ceil(this.#words / ITEM_WORDS);
    this.#guessed = [];
    yield { type: "text", text, tokens, item, revises: true, final: true, ...this.#takeConsumed() };
  }

  #takeConsumed(): { consumed?: Seq } {
    const consumed = this.#consumed;
    this.#consumed = undefined;
    return consumed === undefined ? {} : { consumed };
  }

  /** @returns the last record of which all sound has its words */
  #forget(end: number): Seq | undefined {
    const done = this.#records.findLastIndex((record) => record.end <= end);
    return this.#records.splice(0, done + 1).at(-1)?.seq;
  }
}
