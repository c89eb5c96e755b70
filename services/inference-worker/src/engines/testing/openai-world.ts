import { type EngineRequest, type GenerateOptions, NO_PROGRESS, type ReplicaObserver } from "../engine.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai/openai-engine.ts";
import { collect } from "./collect.ts";
import { startMisbehavingServer, type Answer } from "./misbehaving-server.ts";

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

/** The calls of an observer, in order. */
export type Told = readonly ["ended" | "ejected" | "back", replica: number, what?: string];

/** Never within a test, unless it asks for it. */
const NEVER_MS = 3_600_000;

/** An OpenAI engine that chooses among servers, by their load alone unless the options say otherwise. */
export async function startReplicaWorld(count: number, options: Partial<OpenaiEngineOptions> = {}) {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all(Array.from({ length: count }, () => startMisbehavingServer()));
  for (const server of servers) stack.use(server);
  const [baseUrl, ...moreBaseUrls] = servers.map((server) => server.baseUrl);
  const engine = createOpenaiEngine({
    baseUrl: baseUrl!,
    moreBaseUrls,
    upstreamModel: "org/m",
    health: { intervalMs: NEVER_MS },
    hasAffinity: false,
    ...options,
  });
  stack.defer(() => engine.close());
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  const tell = (...news: Told) => {
    told.push(news);
    for (const wake of waiting) wake();
  };
  const observer: ReplicaObserver = {
    onEnded: (replica, outcome) => tell("ended", replica, outcome),
    onEjected: (replica, because) => tell("ejected", replica, because),
    onBack: (replica) => tell("back", replica),
  };
  engine.replicas?.observe(observer);
  const owned = stack.move();
  return {
    servers,
    engine,
    told,
    /** Resolves once the observer was told so. */
    async untilTold(kind: Told[0], replica: number): Promise<void> {
      while (!told.some((news) => news[0] === kind && news[1] === replica)) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.add(resolve);
        await promise;
        waiting.delete(resolve);
      }
    },
    /** Each server answers its next requests so. */
    willAnswer(answers: readonly Answer[], times = 1): void {
      for (const [i, answer] of answers.entries())
        for (let n = 0; n < times; n++) servers[i]!.willAnswer(answer);
    },
    run: (overrides: Partial<GenerateOptions> = {}, request: Partial<EngineRequest> = {}) =>
      collect(
        engine.generate(
          { ...REQUEST, ...request },
          { ...NO_PROGRESS, signal: new AbortController().signal, ...overrides },
        ),
      ),
    /** The number of requests that each server has received. */
    asked: () => servers.map(({ requests }) => requests.length),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
