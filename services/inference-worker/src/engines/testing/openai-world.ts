import { type EngineRequest, NO_PROGRESS, type Progress } from "../engine.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai/openai-engine.ts";
import { collect } from "./collect.ts";
import { startMisbehavingServer } from "./misbehaving-server.ts";

export const REQUEST: EngineRequest = { model: "public", input: "Hi" };

/** An OpenAI engine and the server that it talks to. */
export async function startOpenaiWorld(options: Partial<OpenaiEngineOptions> = {}) {
  const server = await startMisbehavingServer();
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "org/m", ...options });

  /** A run that can be aborted. */
  const start = (request = REQUEST, progress: Partial<Progress> = {}) => {
    const abort = new AbortController();
    return {
      abort,
      events: engine
        .generate(request, { ...NO_PROGRESS, ...progress, signal: abort.signal })
        [Symbol.asyncIterator](),
    };
  };
  const run = (request = REQUEST, progress: Partial<Progress> = {}) =>
    collect(engine.generate(request, { ...NO_PROGRESS, ...progress, signal: new AbortController().signal }));
  const stop = async () => {
    await engine.close();
    await server[Symbol.asyncDispose]();
  };
  return { server, engine, start, run, [Symbol.asyncDispose]: stop };
}
