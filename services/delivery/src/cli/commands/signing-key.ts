import type { Command } from "commander";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, parseSeconds, writeJson, writeLine } from "../command.ts";
import { readPublicKey, writeNewKey } from "../key-file.ts";
import { pathOf } from "./tenant.ts";

const keySchema = z.looseObject({ kid: z.string(), expires_at: z.string().optional() });

interface NewKey extends JsonOption {
  readonly kid: string;
  readonly keyFile: string;
  readonly generate?: true;
  readonly expiresAt?: string;
}

export const addSigningKeyCommands: AddCommands = (program, io) => {
  const signingKey = program
    .command("signing-key")
    .description("registers the keys with which a tenant signs stream tokens");
  withNewKey(signingKey.command("add <tenant>"))
    .description("registers a key with which the tenant signs stream tokens")
    .action(async (tenant: string, values: NewKey) => {
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/signing-keys`, {
        method: "POST",
        body: await registration(values),
        schema: keySchema,
      });
      if (values.json) writeJson(io.out, body);
      else writeLine(io.out, body.kid);
    });
  withNewKey(signingKey.command("rotate <tenant> <old-kid>"))
    .description("registers a key beside an old one, whose tokens count on for a while")
    .option("--overlap-seconds <n>", "how long the old key's tokens still count; default: 86400, a day")
    .action(async (tenant: string, oldKid: string, values: NewKey & { overlapSeconds?: string }) => {
      const { overlapSeconds: overlap } = values;
      const overlap_seconds = overlap === undefined ? undefined : parseSeconds(overlap, "overlap-seconds");
      const { body } = await openAdminApi(io)(`${keyPath(tenant, oldKid)}/rotate`, {
        method: "POST",
        body: { ...(await registration(values)), ...(overlap_seconds !== undefined && { overlap_seconds }) },
        schema: keySchema,
      });
      if (values.json) writeJson(io.out, body);
      else writeLine(io.out, body.kid);
    });
  signingKey
    .command("remove <tenant> <kid>")
    .description(
      "removes a signing key: its tokens are refused within a second, and their streams are broken off",
    )
    .action(async (tenant: string, kid: string) => {
      await openAdminApi(io)(keyPath(tenant, kid), { method: "DELETE", schema: z.undefined() });
      writeLine(io.err, `${kid} is removed.`);
    });
  signingKey
    .command("list <tenant>")
    .description("lists the keys with which a tenant signs stream tokens")
    .option("--json", "all fields")
    .action(async (tenant: string, { json }: JsonOption) => {
      const schema = z.object({ data: z.array(keySchema) });
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/signing-keys`, { schema });
      if (json) return writeJson(io.out, body.data);
      for (const { kid, expires_at } of body.data)
        writeLine(io.out, `${kid}\texpires ${expires_at ?? "never"}`);
    });
};

function withNewKey(command: Command): Command {
  return command
    .requiredOption("--kid <kid>", "the id that tokens name it by; does not begin with reprise-")
    .requiredOption(
      "--key-file <file>",
      "the key of Ed25519 as a JWK; of a private key only the public part is sent",
    )
    .option("--generate", "makes a key, and writes it to that file, which must not exist yet")
    .option("--expires-at <time>", "such as 2027-01-31T00:00:00Z; default: never")
    .option("--json", "the platform's answer");
}

async function registration({ kid, keyFile, generate, expiresAt: expires_at }: NewKey) {
  const public_jwk = await (generate ? writeNewKey(keyFile) : readPublicKey(keyFile));
  return { kid, public_jwk, ...(expires_at !== undefined && { expires_at }) };
}

function keyPath(tenant: string, kid: string): string {
  return `${pathOf(tenant)}/signing-keys/${encodeURIComponent(kid)}`;
}
