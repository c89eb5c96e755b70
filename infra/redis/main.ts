// `npm run redis`: writes the configuration of a Redis for limits and budgets. See README.md.
import { isIP } from "node:net";
import { parseArgs } from "node:util";
import { endWithReader } from "@reprise/runtime";
import { writeRedisConfig } from "@reprise/tenancy";
import { TLS_OPTIONS, toServerTls } from "../tls-options.ts";

const USAGE = `npm run redis -- generate --out <folder> [options]
  --host <name>               where Redis listens, and services find it; default: 127.0.0.1
  --port <number>             default: 6379
  --tls-ca, --tls-cert, --tls-key <file>
                              PEM files on Redis's machine; needed for a host that is not on 127.0.0.1`;

const OPTIONS = {
  out: { type: "string" },
  host: { type: "string", default: "127.0.0.1" },
  port: { type: "string", default: "6379" },
  ...TLS_OPTIONS,
} as const;

const MAX_PORT = 65_535;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function generate(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { out, host } = values;
  if (out === undefined) throw new Error("--out is missing.");
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) throw new Error("--port is no port.");
  const tls = toServerTls(values);
  const isLocal = isIP(host) === 4 && host.startsWith("127.");
  if (!tls && !isLocal)
    throw new Error(
      `${host} is reached over a network, where the password needs TLS: name the certificates.`,
    );
  const { configFile, urlFiles } = await writeRedisConfig({ dir: out, host, port, tls });
  print(`Redis: redis-server ${configFile}`);
  for (const [service, file] of Object.entries(urlFiles))
    print(`${service}: REPRISE_REDIS_URL="$(cat ${file})"`);
  print(`${out} holds secrets: only its owner can read it.`);
}

const [command, ...args] = process.argv.slice(2);
endWithReader(process.stdout);
try {
  if (args.includes("--help")) print(USAGE);
  else if (command === "generate") await generate(args);
  else {
    const isAsked = command === "--help";
    (isAsked ? process.stdout : process.stderr).write(`${USAGE}\n`);
    process.exitCode = isAsked ? 0 : 2;
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
