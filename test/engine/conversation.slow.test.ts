import { createSseDecoder } from "@reprise/protocol/wire";
import { expect, test } from "vitest";
import { MODEL, type Platform, startPlatformAt } from "./platform.ts";
import { type EngineServer, startServer } from "./server/start.ts";

/*
 * A conversation of 20 turns through the platform, which is sent each turn's new words alone, beside the same conversation whose client sends it
 * whole each time, as applications do without one: how much of each prompt the server had in its cache, by its own figure, and how long the first
 * token took. Prints the table of docs/benchmarks.md.
 */

const ROUNDS = 3;
const TURNS = 20;
const INPUT_WORDS = 40;
const ANSWER_TOKENS = 32;
/** llama-server gives up nothing of one prompt for another one: neither within a slot nor from memory. */
const NO_REUSE = ["--no-cache-prompt", "--cache-ram", "0"];

const WORDS =
  "time year people way day man thing woman life child world school state family student group country problem hand part".split(
    " ",
  );
const SAMPLING = { temperature: 0, seed: 7 };

/** What one turn was like for its client. */
interface Turn {
  readonly answer: string;
  readonly promptTokens: number;
  /** Of the prompt, by the server's own word. */
  readonly cachedTokens: number;
  readonly firstTokenMs: number;
}

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Of no two rounds the beginning is the same: none finds anything of another one in the cache. */
function inputOf(round: number, turn: number): string {
  const at = (i: number) => WORDS[(round * 7 + turn * 3 + i * (1 + (turn % 3))) % WORDS.length]!;
  return Array.from({ length: INPUT_WORDS }, (_, i) => at(i)).join(" ");
}

const inputsOf = (round: number) => Array.from({ length: TURNS }, (_, turn) => inputOf(round, turn));

/** Each turn is a create with the conversation's id and its own words. */
async function converse(platform: Platform, inputs: readonly string[]): Promise<Turn[]> {
  const { url, key } = platform;
  const response = await fetch(`${url}/v1/conversations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: "{}",
  });
  const { id: conversation } = (await response.json()) as { id: string };
  const turns: Turn[] = [];
  for (const input of inputs) turns.push(await ask(platform, { input, conversation }));
  return turns;
}

/** Each turn has all that came before it, as its client has kept it. */
async function sendWhole(inputs: readonly string[], send: (messages: Message[]) => Promise<Turn>) {
  const messages: Message[] = [];
  const turns: Turn[] = [];
  for (const content of inputs) {
    messages.push({ role: "user", content });
    const turn = await send(messages);
    messages.push({ role: "assistant", content: turn.answer });
    turns.push(turn);
  }
  return turns;
}

async function ask(
  { client }: Platform,
  request: { input: string | Message[]; conversation?: string },
): Promise<Turn> {
  const startMs = performance.now();
  let firstTokenMs = Number.NaN;
  const stream = client.generations.run({
    model: MODEL,
    max_output_tokens: ANSWER_TOKENS,
    ...SAMPLING,
    ...request,
  });
  for await (const { type } of stream)
    if (type === "output.delta" && Number.isNaN(firstTokenMs)) firstTokenMs = performance.now() - startMs;
  const { input_tokens: prompt, cached_input_tokens: cached } = stream.usage;
  return {
    answer: stream.text,
    promptTokens: prompt ?? Number.NaN,
    cachedTokens: cached ?? Number.NaN,
    firstTokenMs,
  };
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly timings?: { readonly cache_n: number; readonly prompt_n: number };
}

async function askDirectly({ baseUrl }: EngineServer, messages: readonly Message[]): Promise<Turn> {
  const startMs = performance.now();
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, stream: true, max_tokens: ANSWER_TOKENS, ...SAMPLING, messages }),
  });
  const decoder = createSseDecoder();
  let [answer, firstTokenMs, cachedTokens, promptTokens] = ["", Number.NaN, Number.NaN, Number.NaN];
  for await (const bytes of response.body!) {
    for (const { data } of decoder.push(bytes)) {
      if (data === "[DONE]") continue;
      const { choices: [choice] = [], timings } = JSON.parse(data) as Chunk;
      const text = choice?.delta?.content ?? "";
      if (text !== "" && answer === "") firstTokenMs = performance.now() - startMs;
      answer += text;
      cachedTokens = timings?.cache_n ?? cachedTokens;
      promptTokens = timings ? timings.cache_n + timings.prompt_n : promptTokens;
    }
  }
  return { answer, promptTokens, cachedTokens, firstTokenMs };
}

/** Of each turn, over all rounds: the counts of the first, and the median of the times. */
function medianOf(rounds: readonly (readonly Turn[])[]): Turn[] {
  return rounds[0]!.map((turn, i) => {
    const times = rounds.map((turns) => turns[i]!.firstTokenMs).toSorted((a, b) => a - b);
    return { ...turn, firstTokenMs: times[Math.floor(times.length / 2)]! };
  });
}

test(
  "a conversation's prompts are cached as those of a client that sends it whole",
  { timeout: 3_600_000 },
  async () => {
    const ways = { conversation: [], whole: [], direct: [], uncached: [] } as Record<string, Turn[][]>;
    for (let round = 0; round < ROUNDS; round++) {
      const inputs = inputsOf(round);
      {
        await using server = await startServer();
        await using platform = await startPlatformAt(server.baseUrl);
        ways["conversation"]!.push(await converse(platform, inputs));
      }
      {
        await using server = await startServer();
        await using platform = await startPlatformAt(server.baseUrl);
        ways["whole"]!.push(await sendWhole(inputs, (input) => ask(platform, { input })));
      }
      await using server = await startServer();
      const direct = await sendWhole(inputs, (messages) => askDirectly(server, messages));
      ways["direct"]!.push(direct);
      await using uncached = await startServer(NO_REUSE);
      const last = inputs.flatMap((content, turn): Message[] => [
        { role: "user", content },
        ...(turn === TURNS - 1 ? [] : [{ role: "assistant" as const, content: direct[turn]!.answer }]),
      ]);
      ways["uncached"]!.push([await askDirectly(uncached, last)]);
    }
    const [conversation, whole, direct, uncached] = Object.values(ways).map(medianOf);
    console.log(toTable({ conversation: conversation!, whole: whole!, direct: direct! }, uncached![0]!));
    for (let round = 0; round < ROUNDS; round++) {
      const told = ways["conversation"]![round]!;
      // The same answers and the same prompts, of which the server had the same in its cache.
      for (const way of ["whole", "direct"]) expect(countsOf(ways[way]![round]!)).toEqual(countsOf(told));
      // All of an earlier turn's prompt is found again.
      for (const [i, { cachedTokens }] of told.entries())
        expect(cachedTokens).toBeGreaterThanOrEqual(told[i - 1]?.promptTokens ?? 0);
      expect(ways["uncached"]![round]).toMatchObject([{ cachedTokens: 0 }]);
    }
  },
);

const countsOf = (turns: readonly Turn[]) =>
  turns.map(({ answer, promptTokens, cachedTokens }) => ({ answer, promptTokens, cachedTokens }));

function toTable(
  { conversation, whole, direct }: Record<"conversation" | "whole" | "direct", readonly Turn[]>,
  uncached: Turn,
): string {
  const ms = (turn: Turn | undefined) => `${Math.round(turn?.firstTokenMs ?? Number.NaN)} ms`;
  const rows = conversation.map((turn, i) => [
    i + 1,
    turn.promptTokens,
    turn.cachedTokens,
    whole[i]!.cachedTokens,
    direct[i]!.cachedTokens,
    ms(turn),
    ms(whole[i]),
    ms(direct[i]),
    i === TURNS - 1 ? ms(uncached) : "",
  ]);
  const head = [
    "turn",
    "prompt tokens",
    "cached: conversation",
    "cached: sent whole",
    "cached: direct",
    "first token: conversation",
    "first token: sent whole",
    "first token: direct",
    "first token: direct, no cache",
  ];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
