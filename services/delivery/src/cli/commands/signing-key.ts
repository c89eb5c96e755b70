import { required } from "@reprise/service";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type Command, parseCall, parseSeconds, writeJson, writeLine } from "../command.ts";
import { readPublicKey, writeNewKey } from "../key-file.ts";
import { done, pathOf } from "./tenant.ts";

const JSON_OPTION = { json: { type: "boolean" } } as const;
const NEW_KEY = {
  ...JSON_OPTION,
  kid: { type: "string" },
  "key-file": { type: "string" },
  generate: { type: "boolean" },
  "expires-at": { type: "string" },
} as const;

const keySchema = z.looseObject({ kid: z.string(), expires_at: z.string().optional() });

const NEW_KEY_USAGE = `  --kid <kid>           the id that tokens name it by; does not begin with reprise-
  --key-file <file>     the key of Ed25519 as a JWK; of a private key only the public part is sent
  --generate            makes a key, and writes it to that file, which must not be there yet
  --expires-at <time>   such as 2027-01-31T00:00:00Z; default: never
  --json                the platform's answer`;

export const signingKeyAdd: Command = {
  summary: "registers a key with which the tenant signs stream tokens",
  usage: `reprise-admin signing-key add <tenant> --kid <kid> --key-file <file> [--generate]
${NEW_KEY_USAGE}`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], NEW_KEY);
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/signing-keys`, {
      method: "POST",
      body: await registration(values),
      schema: keySchema,
    });
    if (values.json) writeJson(io.out, body);
    else writeLine(io.out, body.kid);
  },
};

export const signingKeyRotate: Command = {
  summary: "registers a key beside an old one, whose tokens count on for a while",
  usage: `reprise-admin signing-key rotate <tenant> <old kid> --kid <kid> --key-file <file> [--generate]
  --overlap-seconds <n> how long the old key's tokens still count; default: 86400, a day
${NEW_KEY_USAGE}`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant", "old kid"], {
      ...NEW_KEY,
      "overlap-seconds": { type: "string" },
    });
    const overlap = values["overlap-seconds"];
    const overlap_seconds = overlap === undefined ? undefined : parseSeconds(overlap, "overlap-seconds");
    const { body } = await openAdminApi(io)(`${keyPath(positionals)}/rotate`, {
      method: "POST",
      body: { ...(await registration(values)), ...(overlap_seconds !== undefined && { overlap_seconds }) },
      schema: keySchema,
    });
    if (values.json) writeJson(io.out, body);
    else writeLine(io.out, body.kid);
  },
};

export const signingKeyRemove: Command = {
  summary: "removes a signing key: its tokens are refused within a second, and their streams are broken off",
  usage: "reprise-admin signing-key remove <tenant> <kid>",
  async run(args, io) {
    const { positionals } = parseCall(args, ["tenant", "kid"], JSON_OPTION);
    await openAdminApi(io)(keyPath(positionals), { method: "DELETE", schema: z.undefined() });
    done(io, `${positionals[1]} is removed.`);
  },
};

export const signingKeyList: Command = {
  summary: "lists the keys with which a tenant signs stream tokens",
  usage: `reprise-admin signing-key list <tenant>
  --json                all fields`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], JSON_OPTION);
    const schema = z.object({ data: z.array(keySchema) });
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/signing-keys`, { schema });
    if (values.json) return writeJson(io.out, body.data);
    for (const { kid, expires_at } of body.data)
      writeLine(io.out, `${kid}\texpires ${expires_at ?? "never"}`);
  },
};

interface NewKeyOptions {
  readonly kid?: string | undefined;
  readonly "key-file"?: string | undefined;
  readonly generate?: boolean | undefined;
  readonly "expires-at"?: string | undefined;
}

async function registration({
  kid: id,
  "key-file": path,
  generate,
  "expires-at": expires_at,
}: NewKeyOptions) {
  const kid = required(id, "kid");
  const file = required(path, "key-file");
  const public_jwk = await (generate ? writeNewKey(file) : readPublicKey(file));
  return { kid, public_jwk, ...(expires_at !== undefined && { expires_at }) };
}

function keyPath([tenant, kid = ""]: readonly string[]): string {
  return `${pathOf(tenant)}/signing-keys/${encodeURIComponent(kid)}`;
}
