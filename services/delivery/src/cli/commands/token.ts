import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  END_USER_RULE,
  isEndUser,
  isGenerationId,
  parseTenantId,
  parseWith,
  RepriseError,
  type GenerationId,
  unixNow,
} from "@reprise/protocol";
import {
  audienceSchema,
  importPrivateKey,
  keyIdSchema,
  mintStreamToken,
  parseTokenTemplate,
  scopesSchema,
  TOKEN_LIMITS,
  UNBOUND_WARNING,
} from "@reprise/tenancy";
import type { CommandIo } from "@reprise/runtime";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, parseSeconds, writeJson, writeLine } from "../command.ts";
import { readPrivateKey } from "../key-file.ts";
import { pathOf } from "./tenant.ts";

const TOKEN_ID_BYTES = 15;
const DEFAULT_TTL = "900";
const DEFAULT_AUDIENCE = "reprise";
const generationSchema = z.custom<GenerationId>(isGenerationId, "is not the id of a generation");
const endUserSchema = z.string().refine(isEndUser, END_USER_RULE);
/** Under its option's name, which the error then has, with the number of the scope. */
const scopesOption = z.object({ "--scopes": scopesSchema });
const ttlSchema = z.int().min(1).max(TOKEN_LIMITS.lifeSeconds);

const revocationSchema = z.looseObject({
  kind: z.string(),
  value: z.string(),
  at: z.string(),
  until: z.string(),
});

interface MintValues extends JsonOption {
  readonly signingKeyFile: string;
  readonly kid: string;
  readonly scopes: string;
  readonly generation?: string;
  readonly endUser?: string;
  readonly template?: string;
  readonly rules?: true;
  readonly ttlSeconds: string;
  readonly audience: string;
}

interface RevokeValues extends JsonOption {
  readonly tokenId?: string;
  readonly generation?: string;
  readonly endUser?: string;
}

export const addTokenCommands: AddCommands = (program, io) => {
  const token = program.command("token").description("mints and revokes stream tokens");
  token
    .command("mint <tenant>")
    .description("mints a stream token with a signing key of the tenant, without asking the platform")
    .requiredOption("--signing-key-file <file>", "the private key of Ed25519 as a JWK: kty, crv, x, d")
    .requiredOption("--kid <kid>", "the id under which its public key is registered")
    .requiredOption("--scopes <scope,…>", "read, cancel, tool, create")
    .option("--generation <id>", "the one generation that the token is for")
    .option("--end-user <id>", "the end user whose generations alone it is for; this, --generation or both")
    .option(
      "--template <file>",
      "JSON with what requests that it creates are fixed to: model, policy, limits, metadata, …; only the messages are the page's",
    )
    .option("--rules", "requests that it creates may have moderation rules of their own")
    .option("--ttl-seconds <n>", "1 to 3600", DEFAULT_TTL)
    .option(
      "--audience <text>",
      "the platform's REPRISE_TOKEN_AUDIENCE",
      io.env["REPRISE_TOKEN_AUDIENCE"] || DEFAULT_AUDIENCE,
    )
    .option("--json", "with its id and expiry")
    .action((tenant: string, values: MintValues) => mint(tenant, values, io));
  token
    .command("revoke <tenant>")
    .description("revokes stream tokens: they are refused within a second, and their streams are broken off")
    .option("--token-id <jti>", "one token")
    .option("--generation <id>", "all tokens for this generation that were issued until now")
    .option("--end-user <id>", "all tokens for this end user that were issued until now")
    .option("--json", "the platform's answer")
    .action(async (tenant: string, { tokenId, generation, endUser, json }: RevokeValues) => {
      const named = [
        { kind: "token", value: tokenId },
        { kind: "generation", value: generation },
        { kind: "user", value: endUser },
      ].filter(({ value }) => value !== undefined);
      const [revoked] = named;
      if (!revoked || named.length > 1)
        throw new RepriseError("invalid_request", "Name one of --token-id, --generation and --end-user.");
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/revocations`, {
        method: "POST",
        body: revoked,
        schema: revocationSchema,
      });
      if (json) writeJson(io.out, body);
      else writeLine(io.err, `${body.kind} ${body.value} is revoked.`);
    });
  token
    .command("revocations <tenant>")
    .description("lists the revocations of a tenant's stream tokens that are not forgotten yet")
    .option("--json", "all fields")
    .action(async (tenant: string, { json }: JsonOption) => {
      const schema = z.object({ data: z.array(revocationSchema) });
      const { body } = await openAdminApi(io)(`${pathOf(tenant)}/revocations`, { schema });
      if (json) return writeJson(io.out, body.data);
      for (const { kind, value, at, until } of body.data)
        writeLine(io.out, [kind, value, `at ${at}`, `until ${until}`].join("\t"));
    });
};

async function mint(tenant: string, values: MintValues, { out, err }: CommandIo): Promise<void> {
  const { generation, endUser } = values;
  if (generation === undefined && endUser === undefined)
    throw new RepriseError("invalid_request", "--generation, --end-user or both are needed.");
  const tokenId = randomBytes(TOKEN_ID_BYTES).toString("base64url");
  const { "--scopes": scopes } = parseWith(scopesOption, { "--scopes": values.scopes.split(",") });
  const { token, expiresAtMs } = await mintStreamToken({
    key: {
      keyId: parseWith(keyIdSchema, values.kid, "--kid"),
      privateKey: await importPrivateKey(await readPrivateKey(values.signingKeyFile)),
    },
    audience: parseWith(audienceSchema, values.audience, "--audience"),
    tenant: parseTenantId(tenant),
    scopes,
    generation:
      generation === undefined ? undefined : parseWith(generationSchema, generation, "--generation"),
    endUser: endUser === undefined ? undefined : parseWith(endUserSchema, endUser, "--end-user"),
    template: values.template === undefined ? undefined : await readTemplate(values.template),
    mayBringRules: values.rules ?? false,
    ttlSeconds: parseWith(ttlSchema, parseSeconds(values.ttlSeconds, "ttl-seconds"), "--ttl-seconds"),
    tokenId,
    nowMs: unixNow(),
  });
  if (values.template === undefined && scopes.includes("create"))
    writeLine(err, `Warning: ${UNBOUND_WARNING}`);
  if (values.json)
    return writeJson(out, { id: tokenId, token, expires_at: new Date(expiresAtMs).toISOString() });
  writeLine(out, token);
}

/** @throws RepriseError `invalid_request` */
async function readTemplate(file: string) {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? "not JSON" : "not readable";
    throw new RepriseError("invalid_request", `${file} is ${reason}.`, { cause });
  }
  return parseTokenTemplate(json);
}
