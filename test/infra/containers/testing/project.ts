import { performance } from "node:perf_hooks";
import { createClient, type Generation, type Generations, type Policy } from "@reprise/client";
import { findFreePort } from "@reprise/testkit";
import { buildImages, TAG } from "./images.ts";
import { docker } from "./docker.ts";

/** The compose project of the repository, with the profile `full`. Disposal removes its containers and volumes. */
export interface Project extends AsyncDisposable {
  /** nginx, plain HTTP. */
  readonly url: string;
  readonly tlsUrl: string;
  readonly apiKey: string;
  readonly generations: Generations;
  /** Seconds from `docker compose up` until all is healthy. */
  readonly upS: number;
  compose(...args: readonly string[]): Promise<string>;
  /** Makes a container anew, as an update of its image does, and resolves when it is healthy. */
  replace(service: string): Promise<void>;
  /** SIGKILL. */
  kill(service: string): Promise<void>;
  /** Starts what was killed, and resolves when it is healthy. */
  restart(service: string): Promise<void>;
  create(speech: object, policy?: Policy): Promise<Generation>;
  /** Payloads of the log as a reader gets them in pages. */
  readLog(id: string): Promise<string[]>;
}

interface Page {
  readonly events: readonly object[];
  readonly cursor: string;
  readonly ended: boolean;
}

const UP = ["up", "--no-build", "--detach", "--quiet-pull"];

/** @param subnet the first three numbers of its addresses: projects that run at once need different ones */
export async function startProject(name: string, subnet: string): Promise<Project> {
  const { base } = await buildImages();
  const [http, https] = [await findFreePort(), await findFreePort()];
  const env = {
    ...base,
    VERSION: TAG,
    SUBNET: subnet,
    HTTP_PORT: String(http),
    HTTPS_PORT: String(https),
    COMPOSE_PROFILES: "full",
  };
  const compose = (...args: readonly string[]) => docker(["compose", "--project-name", name, ...args], env);
  const remove = () => compose("down", "--volumes", "--timeout", "1");
  await remove();
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await remove()));
  const began = performance.now();
  await compose(...UP);
  // `hello`, the last one, ends by itself, and may not have yet.
  const running = (await compose("ps", "--services", "--status", "running")).split("\n");
  const services = running.filter((service) => service !== "hello");
  await compose(...UP, "--no-deps", "--wait", ...services);
  const upS = (performance.now() - began) / 1_000;
  const url = `http://127.0.0.1:${http}`;
  const apiKey = await compose("run", "--rm", "--no-deps", "-T", "hello", "key");
  const { generations } = createClient({ url, apiKey });
  const kept = stack.move();
  const anew = async (service: string, ...options: readonly string[]) => {
    try {
      await compose(...UP, "--no-deps", "--wait", ...options, service);
    } catch (error) {
      const log = await compose("logs", "--no-log-prefix", "--tail", "20", service);
      throw new Error(`${service} is not healthy:\n${log}`, { cause: error });
    }
  };
  return {
    url,
    tlsUrl: `https://127.0.0.1:${https}`,
    apiKey,
    generations,
    upS,
    compose,
    replace: (service) => anew(service, "--force-recreate"),
    kill: async (service) => void (await compose("kill", service)),
    restart: (service) => anew(service),
    create: (speech, policy = {}) =>
      generations.create({ model: "sim", input: "Go on.", options: { ...speech }, policy }),
    async readLog(id) {
      const payloads: string[] = [];
      for (let after = ""; ;) {
        const query = after === "" ? "" : `?${new URLSearchParams({ after })}`;
        const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };
        const answer = await fetch(`${url}/v1/generations/${id}/events${query}`, { headers });
        if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
        const { events, cursor, ended } = (await answer.json()) as Page;
        payloads.push(...events.map((event) => JSON.stringify(event)));
        if (ended || events.length === 0) return payloads;
        after = cursor;
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
