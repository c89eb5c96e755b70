import { toProtocolId } from "@reprise/projections";
import { parseGenerationId } from "@reprise/protocol";
import OpenAI from "openai";
import type {
  Response,
  ResponseCreateParamsBase,
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { expect } from "vitest";
import {
  type Asked,
  BODY_CUTS,
  type Client,
  LOOK_UP,
  LOOKED_UP,
  MESSAGES,
  MOST_RETURNS,
  WEATHER_SCHEMA,
} from "./client.ts";
import type { Platform, Tenant } from "./platform.ts";
import { readResponseBody } from "./read-whole.ts";
import { fetchInTurn } from "./sim.ts";

/** The result of one response, whichever way it is read. */
interface Turn {
  readonly response: Response;
  readonly text: string;
  readonly reasoning: string;
}

type Params = Omit<ResponseCreateParamsBase, "stream" | "background">;
type Read = (client: OpenAI, params: Params, headers: Record<string, string>) => Promise<Turn>;

/** How often the package itself sends a request again whose connection was lost: a test cuts fewer. */
const MAX_RETRIES = 6;

/** `create({ stream: true })`, and after a lost connection `retrieve` with `starting_after`. */
export const responsesStream: Client = clientOf({ streams: true }, async (client, params, headers) => {
  const events: ResponseStreamEvent[] = [];
  await throughLosses(async () => {
    const [first] = events;
    const stream =
      first?.type === "response.created"
        ? await client.responses.retrieve(first.response.id, {
            stream: true,
            starting_after: events.length - 1,
          })
        : await client.responses.create({ ...params, stream: true }, { headers });
    for await (const event of stream) events.push(event);
  });
  return toldBy(events);
});

/** The helper `.stream()`, which is strict about what it reads; after a lost connection it reads the response from the beginning. */
export const responsesHelper: Client = clientOf({ streams: true }, async (client, params, headers) => {
  let id: string | undefined;
  return throughLosses(async () => {
    const stream =
      id === undefined
        ? client.responses.stream(params, { headers })
        : client.responses.stream({ response_id: id });
    stream.on("response.created", ({ response }) => (id = response.id));
    return heldBy(await stream.finalResponse());
  });
});

/** `create({ background: true })`, and `retrieve` until the response has ended; again where an answer is lost in its middle. */
export const responsesBackground: Client = clientOf({ streams: false }, async (client, params, headers) => {
  const { id } = await throughLosses(() =>
    client.responses.create({ ...params, background: true }, { headers }),
  );
  const retrieve = () => throughLosses(() => client.responses.retrieve(id));
  // Kept, or it would ask again after an error, too.
  let polled: { readonly response: Response } | { readonly error: unknown } | undefined;
  const hasEnded = async () => {
    try {
      polled = { response: await retrieve() };
      return !["queued", "in_progress"].includes(polled.response.status ?? "");
    } catch (error) {
      polled = { error };
      return true;
    }
  };
  await expect.poll(hasEnded).toBe(true);
  if (!polled || "error" in polled) throw polled?.error;
  return heldBy(polled.response);
});

/** By its deltas alone, in their order. */
function toldBy(events: readonly ResponseStreamEvent[]): Turn {
  if (events.some(({ sequence_number: number }, i) => number !== i))
    throw new Error("An event is missing, or was sent twice.");
  const last = events.at(-1);
  if (!last || !("response" in last)) throw new Error(`The stream ended with ${last?.type}.`);
  const deltasOf = (type: "response.output_text.delta" | "response.reasoning_summary_text.delta") =>
    events.map((event) => (event.type === type ? event.delta : "")).join("");
  return {
    response: last.response,
    text: deltasOf("response.output_text.delta"),
    reasoning: deltasOf("response.reasoning_summary_text.delta"),
  };
}

/** By the items that it holds. */
function heldBy(response: Response): Turn {
  const parts = response.output.flatMap((item) => (item.type === "message" ? item.content : []));
  const thoughts = response.output.flatMap((item) => (item.type === "reasoning" ? item.summary : []));
  return {
    response,
    text: parts.map((part) => (part.type === "output_text" ? part.text : "")).join(""),
    reasoning: thoughts.map(({ text }) => text).join(""),
  };
}

/** Again as often as a connection is lost. Any other error is the client's answer. */
async function throughLosses<T>(read: () => Promise<T>): Promise<T> {
  for (let returns = 0; ; returns++) {
    try {
      return await read();
    } catch (error) {
      if (returns === MOST_RETURNS || !isLoss(error)) throw error;
    }
  }
}

const LOSSES: ReadonlySet<unknown> = new Set(["ECONNRESET", "UND_ERR_SOCKET"]);

/** True if the socket's error is what others were made of. */
function isLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && LOSSES.has(error.code)) || isLoss(error.cause);
}

function openaiFor(platform: Platform, tenant?: Tenant, scripts?: Asked["scripts"]): OpenAI {
  return new OpenAI({
    apiKey: platform.key(tenant),
    baseURL: `${platform.url}/v1`,
    maxRetries: MAX_RETRIES,
    ...(scripts && { fetch: fetchInTurn(scripts) }),
  });
}

function clientOf({ streams }: Pick<Client, "streams">, read: Read): Client {
  return {
    streams,
    ...(!streams && { cuts: BODY_CUTS }),
    failsBare: false,
    comesBack: true,
    finish: { completed: "completed", cancelled: "cancelled" },
    readWhole: readResponseBody,
    async cancel(platform, id) {
      const name = toProtocolId("resp_", parseGenerationId(id));
      expect(await openaiFor(platform).responses.cancel(name)).toMatchObject({
        id: name,
        status: "cancelled",
      });
    },
    async ask(asked) {
      const told = {
        text: "",
        reasoning: "",
        calls: [] as unknown[],
        finish: undefined as string | undefined,
      };
      try {
        for await (const { text, reasoning, response } of turnsOf(read, asked)) {
          told.text += text;
          told.reasoning += reasoning;
          told.calls.push(...callsOf(response).map((call): unknown => JSON.parse(call.arguments)));
          told.finish = response.status;
          if (response.error) return { ...told, error: response.error };
        }
        return { ...told, error: undefined };
      } catch (error) {
        return { ...told, error };
      }
    },
  };
}

/** Asks until the model calls no tool any more: a tool's answer goes into a response after the one that called it. */
async function* turnsOf(read: Read, asked: Asked): AsyncGenerator<Turn> {
  const { platform, scripts, tenant, idempotencyKey: key, tools, structured } = asked;
  const client = openaiFor(platform, tenant, scripts);
  const headers = key === undefined ? {} : { "Idempotency-Key": key };
  let params: Params = {
    model: "sim",
    input: MESSAGES,
    ...(tools && { tools: [{ type: "function", ...LOOK_UP, strict: true }] }),
    ...(structured && {
      text: { format: { type: "json_schema", name: "weather", schema: { ...WEATHER_SCHEMA }, strict: true } },
    }),
  };
  for (;;) {
    const turn = await read(client, params, headers);
    yield turn;
    const answers = callsOf(turn.response).map(({ call_id }): ResponseInputItem => ({
      type: "function_call_output",
      call_id,
      output: LOOKED_UP,
    }));
    if (answers.length === 0) return;
    params = { ...params, input: answers, previous_response_id: turn.response.id };
  }
}

const callsOf = ({ output }: Response): ResponseFunctionToolCall[] =>
  output.filter((item) => item.type === "function_call");
