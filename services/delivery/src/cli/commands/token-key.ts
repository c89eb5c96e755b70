import * as z from "zod";
import { openApi } from "../admin-api.ts";
import { type Command, parseCall, parseSeconds, writeJson, writeLine } from "../command.ts";

const JSON_OPTION = { json: { type: "boolean" } } as const;
const keySchema = z.looseObject({
  kid: z.string(),
  created_at: z.string(),
  expires_at: z.string().optional(),
});

export const tokenKeyRotate: Command = {
  summary: "replaces the platform's own keys of stream tokens, for all tenants; with the operator's key",
  usage: `reprise-admin token-key rotate
  --overlap-seconds <n> how long tokens that were minted before still count, 3600 at most; 0 refuses them within a second, and breaks
                        off their streams. Default: each counts until it expires
  --json                the platform's answer`,
  async run(args, io) {
    const { values } = parseCall(args, [], { ...JSON_OPTION, "overlap-seconds": { type: "string" } });
    const overlap = values["overlap-seconds"];
    const overlap_seconds = overlap === undefined ? undefined : parseSeconds(overlap, "overlap-seconds");
    const { body } = await openApi(io)("/admin/token-keys/rotate", {
      method: "POST",
      body: overlap_seconds === undefined ? {} : { overlap_seconds },
      schema: keySchema,
    });
    if (values.json) writeJson(io.out, body);
    else writeLine(io.out, body.kid);
  },
};

export const tokenKeyList: Command = {
  summary: "lists the platform's own keys of stream tokens, the newest last",
  usage: `reprise-admin token-key list
  --json                all fields`,
  async run(args, io) {
    const { values } = parseCall(args, [], JSON_OPTION);
    const schema = z.object({ data: z.array(keySchema) });
    const { body } = await openApi(io)("/admin/token-keys", { schema });
    if (values.json) return writeJson(io.out, body.data);
    for (const { kid, expires_at } of body.data)
      writeLine(io.out, `${kid}\texpires ${expires_at ?? "when it is replaced"}`);
  },
};
