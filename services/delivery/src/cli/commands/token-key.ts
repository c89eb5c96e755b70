import * as z from "zod";
import { openApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, parseSeconds, writeJson, writeLine } from "../command.ts";

const keySchema = z.looseObject({
  kid: z.string(),
  created_at: z.string(),
  expires_at: z.string().optional(),
});

export const addTokenKeyCommands: AddCommands = (program, io) => {
  const tokenKey = program
    .command("token-key")
    .description("rotates the platform's own keys of stream tokens");
  tokenKey
    .command("rotate")
    .description(
      "replaces the platform's own keys of stream tokens, for all tenants; with the operator's key",
    )
    .option(
      "--overlap-seconds <n>",
      "how long tokens that were minted before still count, 3600 at most; 0 refuses them within a second, and breaks off their streams. Default: each counts until it expires",
    )
    .option("--json", "the platform's answer")
    .action(async ({ overlapSeconds: overlap, json }: JsonOption & { overlapSeconds?: string }) => {
      const overlap_seconds = overlap === undefined ? undefined : parseSeconds(overlap, "overlap-seconds");
      const { body } = await openApi(io)("/admin/token-keys/rotate", {
        method: "POST",
        body: overlap_seconds === undefined ? {} : { overlap_seconds },
        schema: keySchema,
      });
      if (json) writeJson(io.out, body);
      else writeLine(io.out, body.kid);
    });
  tokenKey
    .command("list")
    .description("lists the platform's own keys of stream tokens, the newest last")
    .option("--json", "all fields")
    .action(async ({ json }: JsonOption) => {
      const schema = z.object({ data: z.array(keySchema) });
      const { body } = await openApi(io)("/admin/token-keys", { schema });
      if (json) return writeJson(io.out, body.data);
      for (const { kid, expires_at } of body.data)
        writeLine(io.out, `${kid}\texpires ${expires_at ?? "when it is replaced"}`);
    });
};
