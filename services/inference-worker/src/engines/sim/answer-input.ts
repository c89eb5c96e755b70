import { crc32 } from "node:zlib";
import {
  bytesPerSecond,
  type InputFormat,
  type InputRecord,
  RepriseError,
  type Seq,
  type SimOptions,
} from "@reprise/protocol";
import { countText, type EngineEvent, type EngineRequest, type GenerateOptions } from "../engine.ts";
import { type TokenSource, toTokenSource } from "./sim-tokens.ts";

const WORDS_PER_SECOND = 10;

/**
 * Answers input while it comes. The text is a function of the input alone, however that is cut into records: a run that was continued has the same text as one
 * that was not. A record of text counts as a token.
 * @throws RepriseError `invalid_request` for an answer that the format does not have
 */
export async function* answerInput(
  request: EngineRequest,
  { format }: { readonly format: InputFormat },
  { turns, prefix, signal, input }: GenerateOptions,
  options: SimOptions,
): AsyncGenerator<EngineEvent> {
  const { answer = format === "text" ? "echo" : "caption" } = options;
  if ((answer === "caption") !== (format !== "text"))
    throw new RepriseError(
      "invalid_request",
      `options.answer: ${answer} does not answer input of ${format}`,
      {
        param: "options.answer",
      },
    );
  const said = countText({ turns, prefix });
  const wordBytes = Math.floor((bytesPerSecond(format) ?? WORDS_PER_SECOND) / WORDS_PER_SECOND);
  const captions = new Captions(toTokenSource(options, request.seed), wordBytes, said);
  const most = request.max_output_tokens ?? Number.POSITIVE_INFINITY;
  let tokens = said;
  for await (const record of input ?? []) {
    for (const event of toOutput(record, answer, captions)) {
      if (tokens++ >= most) {
        yield { type: "finish", reason: "length" };
        return;
      }
      yield event;
      signal.throwIfAborted();
    }
  }
  yield { type: "finish", reason: "stop" };
}

interface Said {
  readonly type: "text";
  readonly text: string;
  readonly consumed?: Seq;
}

function* toOutput(
  record: InputRecord,
  answer: NonNullable<SimOptions["answer"]>,
  captions: Captions,
): Generator<Said> {
  const { entry, seq } = record;
  if (answer === "caption") yield* captions.hear(record);
  else if (entry.type === "input.delta")
    yield { type: "text", text: answer === "upper" ? entry.text.toUpperCase() : entry.text, consumed: seq };
}

/** Words made up of sound: the n-th is a function of the n-th stretch of bytes. */
class Captions {
  readonly #source: TokenSource;
  readonly #wordBytes: number;
  #words: number;
  /** Sound that no word was made of yet, and where it begins in all of the input. */
  #sound = Buffer.alloc(0);
  #at: number | undefined;
  /** Where the records end that have sound in it. */
  #records: { readonly seq: Seq; readonly end: number }[] = [];

  /** @param words that were made before, of the same input */
  constructor(source: TokenSource, wordBytes: number, words: number) {
    this.#source = source;
    this.#wordBytes = wordBytes;
    this.#words = words;
  }

  *hear({ seq, at, entry }: InputRecord): Generator<Said> {
    this.#at ??= at;
    if (entry.type === "input.audio") {
      this.#sound = Buffer.concat([this.#sound, entry.audio]);
      this.#records.push({ seq, end: at + entry.audio.length });
    }
    const isEnd = entry.type === "input.end";
    for (;;) {
      const begin = this.#words * this.#wordBytes;
      const sound = this.#sound.subarray(Math.max(0, begin - this.#at));
      if (sound.length < (isEnd ? 1 : this.#wordBytes)) return;
      const word = sound.subarray(0, this.#wordBytes);
      this.#words++;
      this.#sound = sound.subarray(word.length);
      this.#at = begin + word.length;
      const text = this.#source.tokenAt(crc32(word));
      const consumed = this.#forget(this.#at);
      yield { type: "text", text, ...(consumed !== undefined && { consumed }) };
    }
  }

  /** @returns the last record of which all sound has its words */
  #forget(end: number): Seq | undefined {
    const done = this.#records.findLastIndex((record) => record.end <= end);
    return this.#records.splice(0, done + 1).at(-1)?.seq;
  }
}
