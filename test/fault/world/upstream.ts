import { createEngines, type Engine, parseModelsFile } from "@reprise/inference-worker-service";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** The fate of a request: `stalls` sends headers and nothing more, `refuses` answers 500. */
export type UpstreamConduct = "answers" | "stalls" | "refuses";

/** One request for tokens. Times by `performance.now()`. */
export interface UpstreamRequest {
  readonly openedAt: number;
  /** As it came, byte for byte. */
  readonly body: string;
  /** When its connection was given up; undefined while it is open, and for one that was answered whole. */
  closedAt: number | undefined;
  isAnswered: boolean;
}

/** A model server with OpenAI's interface, which returns what the simulator returns, and records its requests. */
export interface Upstream extends AsyncDisposable {
  readonly baseUrl: string;
  /** By the request's `seed`, which a trial gives to one generation only. */
  requestsOf(seed: number): readonly UpstreamRequest[];
  /** From now on; default `answers`. */
  treat(seed: number, conduct: UpstreamConduct): void;
}

interface ChatBody {
  readonly seed: number;
  /** How often to say each token, for tokens that are large. Default 1. */
  readonly repeats?: number;
  /** The simulator's options, which the engine hands through. */
  readonly [option: string]: unknown;
}

export async function startUpstream(): Promise<Upstream> {
  const requests = new Map<number, UpstreamRequest[]>();
  const conducts = new Map<number, UpstreamConduct>();
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(incoming);
    const body = JSON.parse(sent) as ChatBody;
    const request: UpstreamRequest = {
      openedAt: performance.now(),
      body: sent,
      closedAt: undefined,
      isAnswered: false,
    };
    requests.set(body.seed, [...(requests.get(body.seed) ?? []), request]);
    const left = new AbortController();
    response.on("close", () => {
      if (request.isAnswered) return;
      request.closedAt = performance.now();
      left.abort();
    });
    const conduct = conducts.get(body.seed) ?? "answers";
    response.writeHead(conduct === "refuses" ? 500 : 200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    if (conduct === "stalls") return;
    if (conduct === "answers") await say(body, response, left.signal);
    request.isAnswered = true;
    response.end();
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requestsOf: (seed) => requests.get(seed) ?? [],
    treat: (seed, conduct) => void conducts.set(seed, conduct),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A models file with the simulator, and with the upstream, whose fallback before the first token is the simulator. */
export function encodeModelsFile({ baseUrl }: Upstream): string {
  const upstream = { engine: "openai", base_url: baseUrl, upstream_model: "upstream", fallback: "sim" };
  return JSON.stringify({ models: { sim: { engine: "sim" }, upstream } });
}

async function say(
  { seed, tokens, tokens_per_second, first_token_ms = 0, repeats = 1 }: ChatBody,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const request = { model: "sim", input: "", seed, options: { tokens, tokens_per_second, first_token_ms } };
  const run = simulatorHere().generate(request as never, {
    turns: [],
    prefix: { text: "", tokens: 0 },
    signal,
  });
  for await (const event of run) {
    if (event.type === "text") response.write(encodeChunk({ content: event.text.repeat(repeats) }));
    else if (event.type === "finish") response.write(encodeChunk({}, event.reason));
  }
  response.write("data: [DONE]\n\n");
}

function encodeChunk(delta: object, finishReason: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;
}

const MODELS = JSON.stringify({ models: { sim: { engine: "sim" } } });

let simulator: Engine | undefined;

/** The simulator as workers have it, in this process: what it says follows from the request alone, wherever it runs. */
export function simulatorHere(): Engine {
  simulator ??= createEngines(parseModelsFile(MODELS, { source: "the fault suite", env: {} }), 1).get(
    "sim",
  )!.engine;
  return simulator;
}
