import { connectBroker, readShardCount } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import { endWithReader, findBrokerAddress, parseEnvironment, topologyOf } from "@reprise/service";
import { parseCliOptions, USAGE } from "./options.ts";
import { runCli } from "./run.ts";

/* `npm run moderation -- coverage|rejudge`: exits with 1 when events were not judged, with 2 when it was called wrongly. */

const TOPOLOGY_NAMES = ["REPRISE_SHARDS", "REPRISE_REPLICAS", "REPRISE_RETENTION_HOURS"] as const;

const args = process.argv.slice(2);
endWithReader(process.stdout);
if (args.includes("--help")) process.stdout.write(`${USAGE}\n`);
else await run(args);

async function run(given: readonly string[]): Promise<void> {
  try {
    const options = parseCliOptions(given);
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
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    process.exitCode = 2;
  }
}
