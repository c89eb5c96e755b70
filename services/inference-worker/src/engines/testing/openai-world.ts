import { type EngineRequest, NO_PREFIX, type Prefix } from "../engine.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai/openai-engine.ts";
import { collect } from "./collect.ts";
import { startMisbehavingServer } from "./misbehaving-server.ts";

export const REQUEST: EngineRequest = { model: "public", input: "Hi" };

/** An OpenAI engine and the server that it talks to. */
export async function startOpenaiWorld(options: Partial<OpenaiEngineOptions> = {}) {
  const server = await startMisbehavingServer();
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "org/m", ...options });

  /** A run that can be aborted. */
  const start = (request = REQUEST, prefix: Prefix = NO_PREFIX) => {
    const abort = new AbortController();
    return {
      abort,
      events: engine.generate(request, { prefix, signal: abort.signal })[Symbol.asyncIterator](),
    };
  };
  const run = (request = REQUEST, prefix: Prefix = NO_PREFIX) =>
    collect(engine.generate(request, { prefix, signal: new AbortController().signal }));
  const stop = async () => {
    await engine.close();
    await server[Symbol.asyncDispose]();
  };
  return { server, engine, start, run, [Symbol.asyncDispose]: stop };
}
