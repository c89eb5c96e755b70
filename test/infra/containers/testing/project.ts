import { performance } from "node:perf_hooks";
import { createClient, type Generation, type Generations, type Policy } from "@reprise/client";
import { findFreePort } from "@reprise/testkit";
import { run } from "../../../../scripts/pack/run.ts";
import { type BaseImages } from "./base-images.ts";
import { buildImages, TAG } from "./images.ts";
import { docker, ROOT } from "./docker.ts";

/** The compose file's variables for one project of it. Disposal removes its containers and volumes. */
export interface ProjectSpace extends AsyncDisposable {
  /** nginx, plain HTTP. */
  readonly url: string;
  readonly tlsUrl: string;
  readonly compose: (...args: readonly string[]) => Promise<string>;
  /** Runs a script as a person would, in the repository, for this project. @returns what it prints */
  shell(script: string, env?: Readonly<Record<string, string>>): Promise<string>;
  /** Resolves when all that has been started is healthy. */
  untilHealthy(): Promise<void>;
}

/** A project that is up. */
export interface Project extends ProjectSpace {
  readonly apiKey: string;
  readonly generations: Generations;
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

/**
 * @param subnet the first three numbers of its addresses: projects that run at once need different ones
 * @param profiles of docker-compose.yml, with commas between them
 */
export async function createProjectSpace(
  name: string,
  subnet: string,
  { base, profiles }: { base: BaseImages; profiles: string },
): Promise<ProjectSpace> {
  const [http, https] = [await findFreePort(), await findFreePort()];
  const own = {
    ...base,
    COMPOSE_PROJECT_NAME: name,
    COMPOSE_PROFILES: profiles,
    VERSION: TAG,
    SUBNET: subnet,
    HTTP_PORT: String(http),
    HTTPS_PORT: String(https),
  };
  const compose = (...args: readonly string[]) => docker(["compose", ...args], own);
  const everything = { ...own, COMPOSE_PROFILES: "*" };
  const remove = async () =>
    void (await docker(["compose", "down", "--volumes", "--timeout", "1"], everything));
  await remove();
  return {
    url: `http://127.0.0.1:${http}`,
    tlsUrl: `https://127.0.0.1:${https}`,
    compose,
    async shell(script, env = {}) {
      const options = { cwd: ROOT, env: { ...process.env, ...own, ...env } };
      return (await run("bash", ["-euo", "pipefail", "-c", script], options)).stdout;
    },
    async untilHealthy() {
      // `hello`, the last one, ends by itself, and may not have yet.
      const running = (await compose("ps", "--services", "--status", "running")).split("\n");
      const services = running.filter((service) => service !== "hello");
      await compose(...UP, "--no-deps", "--wait", ...services);
    },
    [Symbol.asyncDispose]: remove,
  };
}

/** The project of a space that is up already. */
export async function openProject(space: ProjectSpace): Promise<Project> {
  const { url, compose } = space;
  const apiKey = await compose("run", "--rm", "--no-deps", "-T", "hello", "key");
  const { generations } = createClient({ url, apiKey });
  const anew = async (service: string, ...options: readonly string[]) => {
    try {
      await compose(...UP, "--no-deps", "--wait", ...options, service);
    } catch (error) {
      const log = await compose("logs", "--no-log-prefix", "--tail", "20", service);
      const format = "{{range .State.Health.Log}}{{.Start}} {{.ExitCode}} {{.Output}}\n{{end}}";
      const container = await compose("ps", "--all", "--quiet", service);
      const checks = await docker(["inspect", "--format", format, container]);
      throw new Error(`${service} is not healthy:\n${checks}\n${log}`, { cause: error });
    }
  };
  return {
    ...space,
    apiKey,
    generations,
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
  };
}

/** The repository's compose project, with the profile `full`, from images that are built first. `upS`: seconds until all is healthy. */
export async function startProject(
  name: string,
  subnet: string,
): Promise<Project & { readonly upS: number }> {
  const { base } = await buildImages();
  await using stack = new AsyncDisposableStack();
  const space = stack.use(await createProjectSpace(name, subnet, { base, profiles: "full" }));
  const began = performance.now();
  await space.compose(...UP);
  await space.untilHealthy();
  const upS = (performance.now() - began) / 1_000;
  const project = await openProject(space);
  const kept = stack.move();
  return { ...project, upS, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
