import { parseGenerationId, parseTenantId, RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { eraseSubject } from "../../lifecycle/erasure/erase.ts";
import { minDaysOf } from "../../lifecycle/erasure/tenant-minimum.ts";
import { recordAccess } from "./access.ts";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { openForWriting, operator, reasonOf, withWriting, type WritingValues } from "../writing.ts";

/** Erases a subject or a generation, and prints a certificate of it as JSON. May be interrupted and called again. */
export const erase: MakeCommand = (io) =>
  withWriting(new Command("erase"))
    .description("erases everything of a person, or one generation, for good, and certifies it")
    .option(
      "--tenants-file <file>",
      "says for how long a tenant that the broker does not have must keep everything; default: $REPRISE_TENANTS_FILE",
    )
    .option("--despite-minimum", "erases what must still be kept, except what a legal hold forbids")
    .addHelpText("after", "\nWithout a broker the keys are destroyed, and the audit log purges the live log.")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends WritingValues {
  readonly tenantsFile?: string;
  readonly despiteMinimum?: true;
}

async function run(values: Values, io: CommandIo): Promise<number> {
  const tenant = parseTenantId(values.tenant);
  const reason = reasonOf(values);
  const { subject, despiteMinimum = false } = values;
  const generation = values.generation === undefined ? undefined : parseGenerationId(values.generation);
  if ((subject === undefined) === (generation === undefined))
    throw new RepriseError("invalid_request", "Name one of --subject and --generation.");
  const file = values.tenantsFile ?? io.env["REPRISE_TENANTS_FILE"];
  await using writing = await openForWriting(values, io);
  const sources = { broker: writing.live?.broker, file };
  const minDays = despiteMinimum ? 0 : await minDaysOf(tenant, sources);
  const query = generation === undefined ? {} : { generation };
  await recordAccess(values.nats ?? io.env["REPRISE_NATS_URL"], { tenant, call: "erase", query }, io);
  const outcome = await eraseSubject(writing, {
    tenant,
    subject,
    generation,
    by: operator(values.by),
    reason,
    minDays,
    despiteMinimum,
  });
  switch (outcome.kind) {
    case "erased":
      await writeLine(io.out, JSON.stringify(outcome.certificate, undefined, 2));
      return EXIT.fine;
    case "blobs":
      await writeLine(io.err, `${outcome.blobs} blobs were removed. There is no generation of it.`);
      return EXIT.fine;
    case "nothing":
      await writeLine(io.err, "Nothing of it is kept.");
      return EXIT.fine;
    case "waiting":
      await writeLine(
        io.err,
        `${outcome.id}: the keys are destroyed. The live log still has what it has: call again with --nats, or leave it to the audit log, which finishes it within minutes.`,
      );
      return EXIT.unknown;
  }
}
