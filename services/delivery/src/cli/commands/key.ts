import type { CommandIo } from "@reprise/runtime";
import type { Command } from "commander";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, parseSeconds, writeJson, writeLine } from "../command.ts";
import { pathOf } from "./tenant.ts";

const keySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  roles: z.array(z.string()),
  prefix: z.string().optional(),
  expires_at: z.string().optional(),
  last_used_at: z.string().optional(),
});
const madeSchema = keySchema.extend({ secret: z.string() });

interface NewKey extends JsonOption {
  readonly expiresAt?: string;
}

export const addKeyCommands: AddCommands = (program, io) => {
  const key = program.command("key").description("creates, rotates and revokes API keys");
  withNewKey(key.command("create <tenant>"))
    .description("creates an API key, and prints its secret")
    .requiredOption("--name <name>", "appears in logs for what is done with the key")
    .requiredOption("--roles <role,…>", "create, read, cancel, tool, review, audit, usage, admin")
    .action(async (tenant: string, values: NewKey & { name: string; roles: string }) => {
      const { name, roles, expiresAt: expires_at, json } = values;
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/keys`, {
        method: "POST",
        body: { name, roles: roles.split(","), ...(expires_at !== undefined && { expires_at }) },
        schema: madeSchema,
      });
      show(io, body, json);
    });
  withNewKey(key.command("rotate <tenant> <key>"))
    .description("creates a key with an old one's roles; the old one works on for a while")
    .option("--overlap-seconds <n>", "how long the old key still works; default: 86400, a day")
    .option("--name <name>", "default: the old key's with a number after it")
    .action(
      async (tenant: string, id: string, values: NewKey & { name?: string; overlapSeconds?: string }) => {
        const { name, expiresAt: expires_at, overlapSeconds: overlap, json } = values;
        const { body } = await openAdminApi(io)(`${keyPath(tenant, id)}/rotate`, {
          method: "POST",
          body: {
            ...(overlap !== undefined && { overlap_seconds: parseSeconds(overlap, "overlap-seconds") }),
            ...(name !== undefined && { name }),
            ...(expires_at !== undefined && { expires_at }),
          },
          schema: madeSchema,
        });
        show(io, body, json);
      },
    );
  key
    .command("revoke <tenant> <key>")
    .description("revokes an API key: it is refused within a second, and its streams are broken off")
    .action(async (tenant: string, id: string) => {
      await openAdminApi(io)(keyPath(tenant, id), { method: "DELETE", schema: z.undefined() });
      writeLine(io.err, `${id} is revoked.`);
    });
  key
    .command("list <tenant>")
    .description("lists a tenant's API keys, with their last use, and without secrets")
    .option("--json", "all fields")
    .action(async (tenant: string, { json }: JsonOption) => {
      const schema = z.object({ data: z.array(keySchema) });
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/keys`, { schema });
      if (json) return writeJson(io.out, body.data);
      for (const { id, name, roles, expires_at, last_used_at } of body.data) {
        const expires = `expires ${expires_at ?? "never"}`;
        writeLine(io.out, [id, name, roles.join(), expires, `used ${last_used_at ?? "never"}`].join("\t"));
      }
    });
};

function withNewKey(command: Command): Command {
  return command
    .option("--expires-at <time>", "such as 2027-01-31T00:00:00Z; default: never")
    .option("--json", "the platform's answer, with the secret")
    .addHelpText(
      "after",
      "\nThe secret is printed once, to standard output alone, and can't be shown again.",
    );
}

function keyPath(tenant: string, key: string): string {
  return `${pathOf(tenant)}/keys/${encodeURIComponent(key)}`;
}

/** The secret alone on standard output, for `SECRET=$(reprise-admin key create …)`. */
function show({ out, err }: CommandIo, key: z.infer<typeof madeSchema>, isJson = false): void {
  if (isJson) return writeJson(out, key);
  writeLine(err, `${key.id}\t${key.name}\t${key.roles.join()}`);
  writeLine(out, key.secret);
}
