import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

export interface StreamOptions {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A stream that is read for as long as one wants. */
export interface ReadStream {
  readonly id: string;
  /** Resolves with what has come, as soon as it holds this text, or with all of it at its end. */
  until(text: string): Promise<string>;
  /** Breaks the connection. */
  cut(): void;
}

const ID = "reprise-generation-id";
/** A machine at its limit answers so now and then. */
const UNAVAILABLE = 503;
const MOST_TRIES = 10;

/** Calls the API as a program without the SDK does. */
export class ApiCaller implements Disposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: URL;
  readonly #apiKey: string;

  constructor({ url, apiKey }: { url: string; apiKey: string }) {
    this.#url = new URL(url);
    this.#apiKey = apiKey;
  }

  /** @throws Error for an answer of 400 or more */
  async call(options: StreamOptions): Promise<{ id: string; [field: string]: unknown }> {
    const response = await this.#send(options, "application/json");
    return JSON.parse(await new Answer(response).until("\0")) as { id: string };
  }

  async stream(options: StreamOptions): Promise<ReadStream> {
    const response = await this.#send(options, "text/event-stream");
    const answer = new Answer(response);
    return {
      id: String(response.headers[ID] ?? ""),
      until: (text) => answer.until(text),
      cut: () => void response.destroy(),
    };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /** Tries again what the API says to try again, when it says. */
  async #send(options: StreamOptions, accept: string): Promise<IncomingMessage> {
    for (let tries = 1; ; tries++) {
      const response = await this.#sendOnce(options, accept);
      const { statusCode: status = 0 } = response;
      if (status < 400) return response;
      const said = await new Answer(response).until("\0");
      if (status === UNAVAILABLE && tries < MOST_TRIES) {
        await delay(1_000 * Number(response.headers["retry-after"] ?? 1));
        continue;
      }
      throw new Error(`${options.method ?? "POST"} ${options.path}: ${status} ${said}`);
    }
  }

  #sendOnce(
    { method = "POST", path, headers, body }: StreamOptions,
    accept: string,
  ): Promise<IncomingMessage> {
    const { hostname, port } = this.#url;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request({
      agent: this.#agent,
      host: hostname,
      port,
      method,
      path: `/v1/generations${path}`,
      headers: {
        authorization: `Bearer ${this.#apiKey}`,
        accept,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
    });
    sent.on("response", resolve).on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }
}

/** The text of an answer, as it comes. */
class Answer {
  #text = "";
  #ended = false;
  #onMore = () => {};

  constructor(response: IncomingMessage) {
    const end = () => {
      this.#ended = true;
      this.#onMore();
    };
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      this.#text += text;
      this.#onMore();
    });
    response.on("end", end).on("error", end).on("close", end);
  }

  async until(text: string): Promise<string> {
    while (!this.#text.includes(text) && !this.#ended)
      await new Promise<void>((resolve) => (this.#onMore = resolve));
    return this.#text;
  }
}
