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
import { required } from "@reprise/service";
import * as z from "zod";
import { type Command, parseCall, parseSeconds, writeJson, writeLine } from "../command.ts";
import { readPrivateKey } from "../key-file.ts";

const TOKEN_ID_BYTES = 15;
const DEFAULT_TTL = "900";
const DEFAULT_AUDIENCE = "reprise";
const generationSchema = z.custom<GenerationId>(isGenerationId, "is not the id of a generation");
const endUserSchema = z.string().refine(isEndUser, END_USER_RULE);
/** Under its option's name, which the error then has, with the number of the scope. */
const scopesOption = z.object({ "--scopes": scopesSchema });
const ttlSchema = z.int().min(1).max(TOKEN_LIMITS.lifeSeconds);

export const tokenMint: Command = {
  summary: "mints a stream token with a signing key of the tenant, without asking the platform",
  usage: `reprise-admin token mint <tenant> --signing-key-file <file> --kid <kid> --scopes <scope,…>
  --signing-key-file <file>  the private key of Ed25519 as a JWK: kty, crv, x, d
  --kid <kid>                the id under which its public key is registered
  --scopes <scope,…>         read, cancel, tool, create
  --generation <id>          the one generation that the token is for
  --end-user <id>            the end user whose generations alone it is for; this, --generation or both
  --template <file>          JSON with what requests that it creates are fixed to: model, policy, limits, metadata, …; only the messages are the page's
  --rules                    requests that it creates may have moderation rules of their own
  --ttl-seconds <n>          1 to 3600; default: ${DEFAULT_TTL}
  --audience <text>          the platform's REPRISE_TOKEN_AUDIENCE; default: $REPRISE_TOKEN_AUDIENCE, or ${DEFAULT_AUDIENCE}
  --json                     with its id and expiry`,
  async run(args, { out, err, env }) {
    const { values, positionals } = parseCall(args, ["tenant"], {
      json: { type: "boolean" },
      "signing-key-file": { type: "string" },
      kid: { type: "string" },
      scopes: { type: "string" },
      generation: { type: "string" },
      "end-user": { type: "string" },
      template: { type: "string" },
      rules: { type: "boolean", default: false },
      "ttl-seconds": { type: "string", default: DEFAULT_TTL },
      audience: { type: "string", default: env["REPRISE_TOKEN_AUDIENCE"] || DEFAULT_AUDIENCE },
    });
    const { generation, "end-user": endUser } = values;
    if (generation === undefined && endUser === undefined)
      throw new RepriseError("invalid_request", "--generation, --end-user or both are needed.");
    const tokenId = randomBytes(TOKEN_ID_BYTES).toString("base64url");
    const { token, expiresAtMs } = await mintStreamToken({
      key: {
        keyId: parseWith(keyIdSchema, required(values.kid, "kid"), "--kid"),
        privateKey: await importPrivateKey(
          await readPrivateKey(required(values["signing-key-file"], "signing-key-file")),
        ),
      },
      audience: parseWith(audienceSchema, values.audience, "--audience"),
      tenant: parseTenantId(positionals[0]),
      scopes: parseWith(scopesOption, { "--scopes": required(values.scopes, "scopes").split(",") })[
        "--scopes"
      ],
      generation:
        generation === undefined ? undefined : parseWith(generationSchema, generation, "--generation"),
      endUser: endUser === undefined ? undefined : parseWith(endUserSchema, endUser, "--end-user"),
      template: values.template === undefined ? undefined : await readTemplate(values.template),
      mayBringRules: values.rules,
      ttlSeconds: parseWith(ttlSchema, parseSeconds(values["ttl-seconds"], "ttl-seconds"), "--ttl-seconds"),
      tokenId,
      nowMs: unixNow(),
    });
    if (values.template === undefined && values.scopes?.split(",").includes("create"))
      writeLine(err, `Warning: ${UNBOUND_WARNING}`);
    if (values.json)
      return writeJson(out, { id: tokenId, token, expires_at: new Date(expiresAtMs).toISOString() });
    writeLine(out, token);
  },
};

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
