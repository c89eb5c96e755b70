import {
  type GenerationId,
  parseGenerationId,
  parseTenantId,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import { connectBroker, readShardCount } from "@reprise/broker";
import { endWithReader, findBrokerAddress, parseEnvironment, runProgram, topologyOf } from "@reprise/runtime";
import { Command } from "commander";
import { type CliOptions, runCli } from "./run.ts";

/* `npm run moderation -- coverage|rejudge`: exits with 1 when events were not judged, with 2 when it was called wrongly. */

const TOPOLOGY_NAMES = ["REPRISE_SHARDS", "REPRISE_REPLICAS", "REPRISE_RETENTION_HOURS"] as const;

interface Scope {
  readonly tenant: TenantId;
  readonly generation: GenerationId | undefined;
}

endWithReader(process.stdout);

const program = new Command("moderation").addHelpText(
  "after",
  "\nRuns with REPRISE_NATS_URL set or beside a running `npm start`.",
);
withScope(program.command("coverage"))
  .description("tells which events were judged by which rules; exits with 1 when one was not judged")
  .action(({ tenant, generation }: Scope) => run({ command: "coverage", tenant, generation }));
withScope(program.command("rejudge"))
  .description("tells what other rules would find")
  .requiredOption("--rules <file.json>", "a JSON array as in policy.moderation.rules")
  .option("--apply", "has the logs say so", false)
  .action(({ tenant, generation, rules: rulesFile, apply }: Scope & { rules: string; apply: boolean }) =>
    run({ command: "rejudge", tenant, generation, rulesFile, apply }),
  );

try {
  const { stdout: out, stderr: err, argv } = process;
  await runProgram(program, argv.slice(2), { out, err });
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}

function withScope(command: Command): Command {
  return command
    .requiredOption("--tenant <id>", "whose generations", (value) => parseTenantId(value))
    .option("--generation <id>", "default: all that are kept", (value) => parseGenerationId(value));
}

async function run(options: CliOptions): Promise<void> {
  const address = await findBrokerAddress(process.env);
  if (!address)
    throw new RepriseError(
      "config_invalid",
      "No `npm start` runs on the data folder, and REPRISE_NATS_URL is missing.",
    );
  const topology = topologyOf(parseEnvironment(process.env, TOPOLOGY_NAMES));
  await using broker = await connectBroker({ ...address, user: "moderation", name: "moderation-cli" });
  const shards = (await readShardCount(broker.main)) ?? topology.shards;
  const isWell = await runCli(options, {
    broker,
    ...topology,
    shards,
    print: (line) => process.stdout.write(`${line}\n`),
  });
  if (!isWell) process.exitCode = 1;
}
