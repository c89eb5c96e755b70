import { Agent, request } from "node:http";
import { serveProducer } from "../serve-producer.ts";

/**
 * One stream's writer: one POST in flight, so that the order holds; tokens that come meanwhile go together with the next one,
 * as in Reprise and in the protocol's own client.
 */
class AppendStream {
  readonly #url: string;
  readonly #agent: Agent;
  #queued = "";
  #sending: Promise<void> | undefined;

  constructor(url: string, agent: Agent) {
    this.#url = url;
    this.#agent = agent;
  }

  async create(): Promise<void> {
    await this.#send("PUT", "");
  }

  append(text: string): void {
    this.#queued += `${text}\n`;
    this.#sending ??= this.#drain();
  }

  async stored(): Promise<void> {
    await this.#sending;
  }

  async #drain(): Promise<void> {
    while (this.#queued !== "") {
      const body = this.#queued;
      this.#queued = "";
      await this.#send("POST", body);
    }
    this.#sending = undefined;
  }

  #send(method: "PUT" | "POST", body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "text/plain", "content-length": body.length };
      const sent = request(this.#url, { method, agent: this.#agent, headers }, (response) => {
        response.resume();
        response.on("end", () => {
          if (response.statusCode! < 300) resolve();
          else reject(new Error(`${method} was answered with ${response.statusCode}.`));
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

const [baseUrl] = process.argv.slice(2) as [string];
const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
const streams = new Map<string, AppendStream>();

serveProducer({
  async open() {
    const id = String(streams.size + 1);
    const stream = new AppendStream(`${baseUrl}/${id}`, agent);
    streams.set(id, stream);
    await stream.create();
    return id;
  },
  append: (id, text) => streams.get(id)!.append(text),
  stored: (id) => streams.get(id)!.stored(),
});
