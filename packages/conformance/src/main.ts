#!/usr/bin/env node
import { parseArgs } from "node:util";
import { call } from "./http/call.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { type Outcome, runSuite } from "./run-suite.ts";
import type { TargetOptions } from "./target.ts";

const USAGE = `Usage: reprise-conformance <url> --key <key> [options]

Says which of the numbered requirements of PROTOCOL.md a server keeps. Exits 1 if one is broken,
and 64 if none could be tested.

  --key <key>           an API key with the roles create, read, cancel and tool
  --model <name>        a model that takes the simulator's options (sim)
  --other-key <key>     a key of another tenant
  --no-read-key <key>   a key with create, cancel and tool (else stream tokens)
  --limited-key <key>   a key with a limit of a few calls a minute
  --only <M-20>         this requirement; repeatable
  --quick               without cases that take longer than 10 seconds
`;

/** A command line, or a server, with which no requirement can be tested. */
class Refusal extends Error {}

const PROBE_MS = 10_000;

try {
  await main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 64;
}

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  const [url] = positionals;
  if (values.help === true) {
    process.stdout.write(USAGE);
    return;
  }
  if (url === undefined || values.key === undefined) throw new Refusal(USAGE.trimEnd());
  const unknown = values.only?.find((id) => REQUIREMENTS.every((requirement) => requirement.id !== id));
  if (unknown !== undefined)
    throw new Refusal(`--only ${unknown}: PROTOCOL.md has M-1 to M-${REQUIREMENTS.length}.`);
  const target = {
    url,
    key: values.key,
    model: values.model,
    otherKey: values["other-key"],
    noReadKey: values["no-read-key"],
    limitedKey: values["limited-key"],
  };
  await probe(target);
  const results = await runSuite(target, { only: values.only, quick: values.quick });
  const counts: Record<Outcome, number> = { kept: 0, broken: 0, "not tested": 0 };
  for (const { requirement, outcome, reason } of results) {
    counts[outcome]++;
    const { id, section, text } = requirement;
    process.stdout.write(`${outcome.padEnd(10)}  ${id.padEnd(4)}  §${section.padEnd(5)}  ${text}\n`);
    if (reason !== undefined) process.stdout.write(`${" ".repeat(27)}${reason}\n`);
  }
  process.stdout.write(`${counts.kept} kept, ${counts.broken} broken, ${counts["not tested"]} not tested\n`);
  if (counts.broken > 0) process.exitCode = 1;
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        key: { type: "string" },
        model: { type: "string" },
        "other-key": { type: "string" },
        "no-read-key": { type: "string" },
        "limited-key": { type: "string" },
        only: { type: "string", multiple: true },
        quick: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Refusal(toMessage(error));
  }
}

/** @throws Refusal if the server gives no answer or does not know the key: every case would fail */
async function probe(target: TargetOptions): Promise<void> {
  const signal = AbortSignal.timeout(PROBE_MS);
  const caller = { ...target, model: "", signal, longRunning: new Set<string>() };
  const { status } = await call(caller, "GET /v1/generations/gen_probe").catch((error: unknown) => {
    throw new Refusal(`${target.url}: ${toMessage(error)}`);
  });
  if (status === 401) throw new Refusal(`${target.url}: the server does not know the key of --key (401).`);
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
