import OpenAI from "openai";
import type {
  ChatCompletionCreateParamsBase,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions/completions";
import {
  type Asked,
  BODY_CUTS,
  type Client,
  LOOK_UP,
  LOOKED_UP,
  MESSAGES,
  type Told,
  WEATHER_SCHEMA,
} from "./client.ts";
import { readChatBody } from "./read-whole.ts";
import { fetchInTurn } from "./sim.ts";

/** The result of one call of the package, whichever way it is read. */
interface Turn {
  text: string;
  reasoning: string;
  calls: ChatCompletionMessageFunctionToolCall[];
  finish: string | undefined;
}

type Params = Omit<ChatCompletionCreateParamsBase, "stream">;
/** Fills the turn as it goes, so that what was said before an error is there. */
type Read = (client: OpenAI, params: Params, headers: Record<string, string>, turn: Turn) => Promise<void>;

/** Fields that the package does not know, and passes on. */
interface Beyond {
  readonly reasoning?: string;
}

type Reading = Pick<Client, "streams" | "failsBare" | "cuts">;
const STREAM: Reading = { streams: true, failsBare: false };
const BODY: Reading = { streams: false, failsBare: true, cuts: BODY_CUTS };

/** `for await` over `create({ stream: true })`. */
export const openaiStream: Client = clientOf(STREAM, async (client, params, headers, turn) => {
  const stream = await client.chat.completions.create({ ...params, stream: true }, { headers });
  for await (const { choices } of stream) {
    for (const { delta, finish_reason: finish } of choices) {
      turn.text += delta.content ?? "";
      turn.reasoning += (delta as Beyond).reasoning ?? "";
      turn.finish = finish ?? turn.finish;
      for (const { id = "", function: { name = "", arguments: args = "" } = {} } of delta.tool_calls ?? [])
        turn.calls.push({ id, type: "function", function: { name, arguments: args } });
    }
  }
});

/** The helper `.stream()`, which sums up and is strict about what it reads. */
export const openaiHelper: Client = clientOf(STREAM, async (client, params, headers, turn) => {
  const stream = client.chat.completions.stream({ ...params, stream: true }, { headers });
  stream.on("content", (delta) => (turn.text += delta));
  const {
    choices: [choice],
  } = await stream.finalChatCompletion();
  takeMessage(turn, choice);
});

/** `create()` without a stream. */
export const openaiBody: Client = clientOf(BODY, async (client, params, headers, turn) => {
  const {
    choices: [choice],
  } = await client.chat.completions.create({ ...params, stream: false }, { headers });
  takeMessage(turn, choice);
});

function takeMessage(turn: Turn, choice: OpenAI.Chat.Completions.ChatCompletion.Choice | undefined): void {
  if (!choice) throw new Error("A completion without a choice.");
  turn.text = choice.message.content ?? turn.text;
  turn.reasoning = (choice.message as Beyond).reasoning ?? "";
  turn.finish = choice.finish_reason;
  turn.calls = (choice.message.tool_calls ?? []).filter((call) => call.type === "function");
}

function clientOf(reading: Reading, read: Read): Client {
  return {
    ...reading,
    comesBack: false,
    finish: { completed: "stop", cancelled: "stop" },
    readWhole: readChatBody,
    async ask(asked) {
      const told = {
        text: "",
        reasoning: "",
        calls: [] as unknown[],
        finish: undefined as string | undefined,
      };
      try {
        for await (const turn of turnsOf(read, asked)) {
          told.text += turn.text;
          told.reasoning += turn.reasoning;
          told.calls.push(...turn.calls.map((call): unknown => JSON.parse(call.function.arguments)));
          told.finish = turn.finish;
          if (turn.error !== undefined) return { ...told, error: turn.error };
        }
        return { ...told, error: undefined };
      } catch (error) {
        return { ...told, error };
      }
    },
  };
}

/** Asks until the model calls no tool any more. */
async function* turnsOf(read: Read, asked: Asked): AsyncGenerator<Turn & Pick<Told, "error">> {
  const { platform, scripts, tenant, idempotencyKey: key, tools, structured } = asked;
  const client = new OpenAI({
    apiKey: platform.key(tenant),
    baseURL: `${platform.url}/v1`,
    fetch: fetchInTurn(scripts),
  });
  const headers = key === undefined ? {} : { "Idempotency-Key": key };
  const messages: ChatCompletionMessageParam[] = [...MESSAGES];
  for (;;) {
    const turn: Turn = { text: "", reasoning: "", calls: [], finish: undefined };
    const params: Params = {
      model: "sim",
      messages,
      ...(tools && { tools: [{ type: "function", function: { ...LOOK_UP } }] }),
      ...(structured && {
        response_format: {
          type: "json_schema",
          json_schema: { name: "weather", schema: { ...WEATHER_SCHEMA }, strict: true },
        },
      }),
    };
    const error = await read(client, params, headers, turn).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    yield { ...turn, error };
    if (turn.calls.length === 0 || error !== undefined) return;
    messages.push({ role: "assistant", content: turn.text, tool_calls: turn.calls });
    for (const { id } of turn.calls) messages.push({ role: "tool", tool_call_id: id, content: LOOKED_UP });
  }
}
