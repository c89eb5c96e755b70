import { parseGenerationId, parseTenantId, RepriseError, type TenantId } from "@reprise/protocol";
import { type CommandIo, parseOptions, required } from "@reprise/service";
import { liftHold, setHold } from "../../lifecycle/hold.ts";
import { recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "../command.ts";
import type { ValuesOf } from "../options.ts";
import { openForWriting, operator, type Writing, WRITING_OPTIONS, WRITING_USAGE } from "../writing.ts";

const OPTIONS = { ...WRITING_OPTIONS, id: { type: "string" } } as const;
type Values = ValuesOf<typeof OPTIONS>;

/** Sets, lifts and lists legal holds. `set` prints the id of the hold, which is what lifts it. */
export const hold: Command = {
  summary: "hold set | lift | list: forbids erasure and deletion until it is lifted",
  usage: `${WRITING_USAGE}
  --id <hold>                 of the one to lift

Without --subject and --generation, everything of the tenant is held.`,

  async run(args, io) {
    const { values, positionals } = parseOptions(args, OPTIONS);
    const [action = "", ...rest] = positionals;
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action as keyof typeof ACTIONS] : undefined;
    if (!run || rest.length > 0)
      throw new RepriseError("invalid_request", "Say one of: hold set, hold lift, hold list.");
    const tenant = parseTenantId(required(values.tenant, "tenant"));
    await using writing = await openForWriting(values, io);
    const nats = values.nats ?? io.env["REPRISE_NATS_URL"];
    await recordAccess(nats, { tenant, call: "hold", query: { action } }, io);
    await run(writing, tenant, values, io);
    return EXIT.fine;
  },
};

type Action = (writing: Writing, tenant: TenantId, values: Values, io: CommandIo) => Promise<void>;

const ACTIONS = { set, lift, list } as const satisfies Record<string, Action>;

async function set(writing: Writing, tenant: TenantId, values: Values, { out }: CommandIo): Promise<void> {
  const { subject } = values;
  const generation = values.generation === undefined ? undefined : parseGenerationId(values.generation);
  if (subject !== undefined && generation !== undefined)
    throw new RepriseError("invalid_request", "--subject and --generation exclude each other.");
  const reason = required(values.reason, "reason");
  const id = await setHold(writing, { tenant, subject, generation, by: operator(values.by), reason });
  await writeLine(out, id);
}

async function lift({ archive }: Writing, tenant: TenantId, values: Values): Promise<void> {
  const id = required(values.id, "id");
  await liftHold(archive, { tenant, id, by: operator(values.by), reason: required(values.reason, "reason") });
}

async function list({ archive }: Writing, tenant: TenantId, _: Values, { out }: CommandIo): Promise<void> {
  for (const { id, at, by, reason, tag, generation } of archive.state.holds(tenant)) {
    const what = generation ?? (tag === undefined ? "everything" : `the subject with the tag ${tag}`);
    await writeLine(out, `${id}  ${at}  ${what}  by ${by}: ${reason}`);
  }
}
