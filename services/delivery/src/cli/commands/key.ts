import * as z from "zod";
import { type CommandIo, required } from "@reprise/service";
import { openAdminApi } from "../admin-api.ts";
import { type Command, parseCall, parseSeconds, writeJson, writeLine } from "../command.ts";
import { done, pathOf } from "./tenant.ts";

const JSON_OPTION = { json: { type: "boolean" } } as const;
const NEW_KEY = {
  ...JSON_OPTION,
  name: { type: "string" },
  "expires-at": { type: "string" },
} as const;

const keySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  roles: z.array(z.string()),
  prefix: z.string().optional(),
  expires_at: z.string().optional(),
  last_used_at: z.string().optional(),
});
const madeSchema = keySchema.extend({ secret: z.string() });

const NEW_KEY_USAGE = `  --expires-at <time>   such as 2027-01-31T00:00:00Z; default: never
  --json                the platform's answer, with the secret

The secret is printed once, to standard output alone, and can't be shown again.`;

export const keyCreate: Command = {
  summary: "creates an API key, and prints its secret",
  usage: `reprise-admin key create <tenant> --name <name> --roles <role,…>
  --name <name>         appears in logs for what is done with the key
  --roles <role,…>      create, read, cancel, tool, review, audit, usage, admin
${NEW_KEY_USAGE}`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], { ...NEW_KEY, roles: { type: "string" } });
    const name = required(values.name, "name");
    const roles = required(values.roles, "roles").split(",");
    const expires_at = values["expires-at"];
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/keys`, {
      method: "POST",
      body: { name, roles, ...(expires_at !== undefined && { expires_at }) },
      schema: madeSchema,
    });
    show(io, body, values.json);
  },
};

export const keyRotate: Command = {
  summary: "creates a key with an old one's roles; the old one works on for a while",
  usage: `reprise-admin key rotate <tenant> <key>
  --overlap-seconds <n> how long the old key still works; default: 86400, a day
  --name <name>         default: the old key's with a number behind it
${NEW_KEY_USAGE}`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant", "key"], {
      ...NEW_KEY,
      "overlap-seconds": { type: "string" },
    });
    const { name, "expires-at": expires_at, "overlap-seconds": overlap } = values;
    const { body } = await openAdminApi(io)(`${keyPath(positionals)}/rotate`, {
      method: "POST",
      body: {
        ...(overlap !== undefined && { overlap_seconds: parseSeconds(overlap, "overlap-seconds") }),
        ...(name !== undefined && { name }),
        ...(expires_at !== undefined && { expires_at }),
      },
      schema: madeSchema,
    });
    show(io, body, values.json);
  },
};

export const keyRevoke: Command = {
  summary: "revokes an API key: it is refused within a second, and its streams are broken off",
  usage: "reprise-admin key revoke <tenant> <key>",
  async run(args, io) {
    const { positionals } = parseCall(args, ["tenant", "key"], JSON_OPTION);
    await openAdminApi(io)(keyPath(positionals), { method: "DELETE", schema: z.undefined() });
    done(io, `${positionals[1]} is revoked.`);
  },
};

export const keyList: Command = {
  summary: "lists a tenant's API keys, with their last use, and without secrets",
  usage: `reprise-admin key list <tenant>
  --json                all fields`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], JSON_OPTION);
    const schema = z.object({ data: z.array(keySchema) });
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/keys`, { schema });
    if (values.json) return writeJson(io.out, body.data);
    for (const { id, name, roles, expires_at, last_used_at } of body.data) {
      const expires = `expires ${expires_at ?? "never"}`;
      writeLine(io.out, [id, name, roles.join(), expires, `used ${last_used_at ?? "never"}`].join("\t"));
    }
  },
};

function keyPath([tenant, key = ""]: readonly string[]): string {
  return `${pathOf(tenant)}/keys/${encodeURIComponent(key)}`;
}

/** The secret alone on standard output, for `SECRET=$(reprise-admin key create …)`. */
function show({ out, err }: CommandIo, key: z.infer<typeof madeSchema>, isJson = false): void {
  if (isJson) return writeJson(out, key);
  writeLine(err, `${key.id}\t${key.name}\t${key.roles.join()}`);
  writeLine(out, key.secret);
}
