import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type Command, parseCall, writeJson, writeLine } from "../command.ts";
import { done, pathOf } from "./tenant.ts";

const JSON_OPTION = { json: { type: "boolean" } } as const;
const revocationSchema = z.looseObject({
  kind: z.string(),
  value: z.string(),
  at: z.string(),
  until: z.string(),
});

export const tokenRevoke: Command = {
  summary: "revokes stream tokens: they are refused within a second, and their streams are broken off",
  usage: `reprise-admin token revoke <tenant> --token-id <jti> | --generation <id> | --end-user <id>
  --token-id <jti>      one token
  --generation <id>     all tokens for this generation that were issued until now
  --end-user <id>       all tokens for this end user that were issued until now
  --json                the platform's answer`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], {
      ...JSON_OPTION,
      "token-id": { type: "string" },
      generation: { type: "string" },
      "end-user": { type: "string" },
    });
    const named = [
      { kind: "token", value: values["token-id"] },
      { kind: "generation", value: values.generation },
      { kind: "user", value: values["end-user"] },
    ].filter(({ value }) => value !== undefined);
    const [revoked] = named;
    if (!revoked || named.length > 1)
      throw new RepriseError("invalid_request", "Name one of --token-id, --generation and --end-user.");
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/revocations`, {
      method: "POST",
      body: revoked,
      schema: revocationSchema,
    });
    if (values.json) writeJson(io.out, body);
    else done(io, `${body.kind} ${body.value} is revoked.`);
  },
};

export const tokenRevocations: Command = {
  summary: "lists the revocations of a tenant's stream tokens that are not forgotten yet",
  usage: `reprise-admin token revocations <tenant>
  --json                all fields`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], JSON_OPTION);
    const schema = z.object({ data: z.array(revocationSchema) });
    const { body } = await openAdminApi(io)(`${pathOf(positionals[0])}/revocations`, { schema });
    if (values.json) return writeJson(io.out, body.data);
    for (const { kind, value, at, until } of body.data)
      writeLine(io.out, [kind, value, `at ${at}`, `until ${until}`].join("\t"));
  },
};
