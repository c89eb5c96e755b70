import { openBroker } from "@reprise/log";
import { topologyOf } from "@reprise/service";
import { parseModerationEnvironment } from "../config.ts";
import { parseCliOptions, USAGE } from "./options.ts";
import { runCli } from "./run.ts";

/* `npm run moderation -- coverage|rejudge`: exits with 1 when events were not looked at, with 2 when it was called wrongly. */

try {
  const options = parseCliOptions(process.argv.slice(2));
  const env = parseModerationEnvironment(process.env);
  const topology = topologyOf(env);
  await using broker = await openBroker({
    url: env.REPRISE_NATS_URL.join(","),
    name: "moderation-cli",
    ...topology,
  });
  const isWell = await runCli(options, {
    broker,
    ...topology,
    print: (line) => process.stdout.write(`${line}\n`),
  });
  if (!isWell) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
