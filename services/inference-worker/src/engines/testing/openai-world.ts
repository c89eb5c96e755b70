import { type EngineRequest, type GenerateOptions, NO_PROGRESS } from "../engine.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai/openai-engine.ts";
import { collect } from "./collect.ts";
import { startMisbehavingServer } from "./misbehaving-server.ts";

export const REQUEST: EngineRequest = { model: "public", input: "Hi" };

/** An OpenAI engine and the server that it talks to. */
export async function startOpenaiWorld({
  path = "/v1",
  ...options
}: Partial<OpenaiEngineOptions> & { /** The path of the base URL. */ readonly path?: string } = {}) {
  const server = await startMisbehavingServer();
  const baseUrl = new URL(path, server.baseUrl).href;
  const engine = createOpenaiEngine({ baseUrl, upstreamModel: "org/m", ...options });

  /** A run that can be aborted. */
  const start = (request = REQUEST) => {
    const abort = new AbortController();
    const events = engine.generate(request, { ...NO_PROGRESS, signal: abort.signal });
    return { abort, events: events[Symbol.asyncIterator]() };
  };
  const run = (request = REQUEST, overrides: Partial<GenerateOptions> = {}) =>
    collect(engine.generate(request, { ...NO_PROGRESS, signal: new AbortController().signal, ...overrides }));
  const stop = async () => {
    await engine.close();
    await server[Symbol.asyncDispose]();
  };
  return { server, engine, start, run, [Symbol.asyncDispose]: stop };
}
