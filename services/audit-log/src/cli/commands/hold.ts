import { parseGenerationId, parseTenantId, RepriseError, type TenantId } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Argument, Command } from "commander";
import { liftHold, setHold } from "../../lifecycle/hold.ts";
import { recordAccess } from "./access.ts";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import {
  openForWriting,
  operator,
  reasonOf,
  withWriting,
  type Writing,
  type WritingValues,
} from "../writing.ts";

interface Values extends WritingValues {
  readonly id?: string;
}

/** Sets, lifts and lists legal holds. `set` prints the id of the hold, which is what lifts it. */
export const hold: MakeCommand = (io) =>
  withWriting(new Command("hold"))
    .description("forbids erasure and deletion until it is lifted; prints the id of the hold that it sets")
    .addArgument(new Argument("<action>").choices(Object.keys(ACTIONS)))
    .option("--id <hold>", "of the one to lift")
    .addHelpText("after", "\nWithout --subject and --generation, everything of the tenant is held.")
    .action(async (action: keyof typeof ACTIONS, values: Values) => {
      io.exitCode = await run(action, values, io);
    });

async function run(action: keyof typeof ACTIONS, values: Values, io: CommandIo): Promise<number> {
  const tenant = parseTenantId(values.tenant);
  await using writing = await openForWriting(values, io);
  const nats = values.nats ?? io.env["REPRISE_NATS_URL"];
  await recordAccess(nats, { tenant, call: "hold", query: { action } }, io);
  await ACTIONS[action](writing, tenant, values, io);
  return EXIT.fine;
}

type Action = (writing: Writing, tenant: TenantId, values: Values, io: CommandIo) => Promise<void>;

const ACTIONS = { set, lift, list } as const satisfies Record<string, Action>;

async function set(writing: Writing, tenant: TenantId, values: Values, { out }: CommandIo): Promise<void> {
  const { subject } = values;
  const generation = values.generation === undefined ? undefined : parseGenerationId(values.generation);
  if (subject !== undefined && generation !== undefined)
    throw new RepriseError("invalid_request", "--subject and --generation exclude each other.");
  const reason = reasonOf(values);
  const id = await setHold(writing, { tenant, subject, generation, by: operator(values.by), reason });
  await writeLine(out, id);
}

async function lift({ archive }: Writing, tenant: TenantId, values: Values): Promise<void> {
  const { id } = values;
  if (id === undefined) throw new RepriseError("invalid_request", "--id is missing.");
  await liftHold(archive, { tenant, id, by: operator(values.by), reason: reasonOf(values) });
}

async function list({ archive }: Writing, tenant: TenantId, _: Values, { out }: CommandIo): Promise<void> {
  for (const { id, at, by, reason, tag, generation } of archive.state.holds(tenant)) {
    const what = generation ?? (tag === undefined ? "everything" : `the subject with the tag ${tag}`);
    await writeLine(out, `${id}  ${at}  ${what}  by ${by}: ${reason}`);
  }
}
