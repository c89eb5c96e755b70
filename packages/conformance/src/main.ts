#!/usr/bin/env node
import { parseArgs } from "node:util";
import { REQUIREMENTS } from "./requirements.ts";
import { type Outcome, runSuite } from "./run-suite.ts";

const USAGE = `Usage: reprise-conformance <url> --key <key> [options]

Says which of the numbered requirements of PROTOCOL.md a server keeps. Exits 1 if one is broken.

  --key <key>           an API key with the roles create, read, cancel and tool
  --model <name>        a model that takes the simulator's options (sim)
  --other-key <key>     a key of another tenant
  --no-read-key <key>   a key with create, cancel and tool (else stream tokens)
  --limited-key <key>   a key with a limit of a few calls a minute
  --only <M-20>         this requirement; repeatable
  --quick               without cases that take longer than 10 seconds
`;

const { values, positionals } = parseArgs({
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
const [url] = positionals;
const unknown = values.only?.find((id) => REQUIREMENTS.every((requirement) => requirement.id !== id));

if (url === undefined || values.key === undefined || values.help === true) {
  process.stdout.write(USAGE);
  if (values.help !== true) process.exitCode = 64;
} else if (unknown !== undefined) {
  process.stderr.write(`--only ${unknown}: PROTOCOL.md has M-1 to M-${REQUIREMENTS.length}.\n`);
  process.exitCode = 64;
} else {
  const results = await runSuite(
    {
      url,
      key: values.key,
      model: values.model,
      otherKey: values["other-key"],
      noReadKey: values["no-read-key"],
      limitedKey: values["limited-key"],
    },
    { only: values.only, quick: values.quick },
  );
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
