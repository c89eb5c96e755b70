import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { spawnSupervised } from "@reprise/runtime";
import { createTempDir, findFreePort, startOnFreePorts } from "@reprise/testkit";
import { ruleTexts } from "../../../infra/observability/rule-texts.ts";
import type { ObservedService } from "./observed-platform.ts";

/** An alert as Prometheus tells of it. */
export interface ActiveAlert {
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
}

/** Prometheus with the rules of infra/observability. Disposal ends it. */
export interface PrometheusServer extends AsyncDisposable {
  readonly url: string;
  /** The number of series that an expression has now. @throws Error when it is none */
  count(expr: string): Promise<number>;
  /** Alerts that fire now. */
  firing(): Promise<readonly ActiveAlert[]>;
}

export interface PrometheusOptions {
  readonly services: readonly ObservedService[];
  /** By which the times of the rules are multiplied. It scrapes and evaluates each second. */
  readonly scale: number;
}

export async function startPrometheus({ services, scale }: PrometheusOptions): Promise<PrometheusServer> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("prometheus"));
  const files = Object.entries(ruleTexts(scale));
  await Promise.all(files.map(([name, text]) => writeFile(join(dir.path, name), text)));
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: files.map(([name]) => name),
    scrape_configs: services.map(({ name, opsUrl }) => ({
      job_name: `reprise-${name}`,
      static_configs: [{ targets: [new URL(opsUrl).host] }],
    })),
  };
  // JSON is YAML.
  await writeFile(join(dir.path, "prometheus.yml"), JSON.stringify(config));
  const { address, server } = await startOnFreePorts(async () => {
    const free = `127.0.0.1:${await findFreePort()}`;
    const started = await spawnSupervised(
      [
        "prometheus",
        `--config.file=${join(dir.path, "prometheus.yml")}`,
        `--storage.tsdb.path=${join(dir.path, "data")}`,
        `--web.listen-address=${free}`,
      ],
      { output: "pipe" },
    );
    await untilReady(started);
    return { address: free, server: started };
  });
  stack.defer(() => server.stop());
  const running = stack.move();
  const url = `http://${address}`;
  return {
    url,
    async count(expr) {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`);
      if (!answer.ok) throw new Error(`${expr}: ${await answer.text()}`);
      const { data } = (await answer.json()) as { data: { result: readonly unknown[] } };
      return data.result.length;
    },
    async firing() {
      const answer = await fetch(`${url}/api/v1/alerts`);
      const { data } = (await answer.json()) as { data: { alerts: readonly ActiveAlert[] } };
      return data.alerts.filter(({ state }) => state === "firing");
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** @throws Error when it ends instead, with what it said */
async function untilReady({ stdout, stderr }: Awaited<ReturnType<typeof spawnSupervised>>): Promise<void> {
  stdout?.resume();
  if (stderr === null) throw new Error("Prometheus has no stderr");
  const said: string[] = [];
  const lines = createInterface({ input: stderr });
  const isReady = await new Promise<boolean>((resolve) => {
    // Continues reading after the line that matters, so that the server never waits for a full pipe.
    lines.on("line", (line) => {
      if (said.length < 100) said.push(line);
      if (line.includes("Server is ready to receive web requests")) resolve(true);
    });
    lines.on("close", () => resolve(false));
  });
  if (!isReady) throw new Error(`Prometheus did not start: ${said.slice(-3).join("\n")}`);
}
