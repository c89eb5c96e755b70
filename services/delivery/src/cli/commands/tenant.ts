import { readFile } from "node:fs/promises";
import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, writeJson, writeLine } from "../command.ts";

const PAGE = 1_000;

const tenantSchema = z.looseObject({ id: z.string() });
const pageSchema = z.object({
  data: z.array(z.looseObject({ id: z.string(), keys: z.int() })),
  has_more: z.boolean(),
});
const policySchema = z.looseObject({ object: z.literal("tenant_policy") });

const SETTINGS =
  "JSON as `tenant policy` prints it: policy, audit, models, limits, slots, budgets, conversations, cors_origins";

export const addTenantCommands: AddCommands = (program, io) => {
  const tenant = program.command("tenant").description("adds, changes and removes tenants");
  tenant
    .command("add <tenant>")
    .description("adds a tenant; it has no keys yet")
    .option("--settings <file>", SETTINGS)
    .option("--json", "the platform's answer")
    .action(async (id: string, { settings: file, json }: JsonOption & { settings?: string }) => {
      const settings = file === undefined ? {} : await readSettings(file);
      const { body } = await openAdminApi(io)("", {
        method: "POST",
        body: { ...settings, id },
        schema: tenantSchema,
      });
      if (json) writeJson(io.out, body);
      else writeLine(io.out, body.id);
    });
  tenant
    .command("list")
    .description("lists the tenants, and how many keys each has")
    .option("--json", "one list of all")
    .action(async ({ json }: JsonOption) => {
      const all = await listTenants(openAdminApi(io));
      if (json) writeJson(io.out, all);
      else for (const { id, keys } of all) writeLine(io.out, `${id}\t${keys} ${keys === 1 ? "key" : "keys"}`);
    });
  tenant
    .command("show <tenant>")
    .description("shows a tenant as JSON: settings, keys, signing keys, revocations")
    .option("--json", "is the default")
    .action(async (id: string) => {
      const { body } = await openAdminApi(io)(pathOf(id), { schema: tenantSchema });
      writeJson(io.out, body);
    });
  tenant
    .command("policy <tenant>")
    .description("shows a tenant's settings as JSON, or replaces them")
    .option(
      "--set <file>",
      "replaces all settings by this JSON: a setting that is missing has its default again",
    )
    .option(
      "--if-match <etag>",
      "only if the tenant has not changed since; the etag is written to standard error",
    )
    .option("--json", "is the default")
    .action(async (id: string, { set, ifMatch }: { set?: string; ifMatch?: string }) => {
      const call =
        set === undefined
          ? { schema: policySchema }
          : ({ method: "PUT", body: await readSettings(set), ifMatch, schema: policySchema } as const);
      const { body, etag } = await openAdminApi(io)(`${pathOf(id)}/policy`, call);
      // `--set` takes what is printed.
      const { object: _, ...settings } = body;
      writeJson(io.out, settings);
      if (etag !== undefined) writeLine(io.err, `etag: ${etag}`);
    });
  tenant
    .command("remove <tenant>")
    .description(
      "removes a tenant for good: its keys are refused at once; its generations stay as long as logs are kept; its id is never given again",
    )
    .action(async (id: string) => {
      await openAdminApi(io)(pathOf(id), { method: "DELETE", schema: z.undefined() });
      writeLine(io.err, `${id} is removed.`);
    });
};

export async function listTenants(
  api: ReturnType<typeof openAdminApi>,
): Promise<z.infer<typeof pageSchema>["data"]> {
  const all: z.infer<typeof pageSchema>["data"] = [];
  for (let hasMore = true; hasMore;) {
    const last = all.at(-1)?.id;
    const query = new URLSearchParams({ limit: `${PAGE}`, ...(last !== undefined && { after: last }) });
    const { body } = await api(`?${query}`, { schema: pageSchema });
    all.push(...body.data);
    hasMore = body.has_more && body.data.length > 0;
  }
  return all;
}

export function pathOf(tenant: string): string {
  return `/${encodeURIComponent(tenant)}`;
}

async function readSettings(file: string): Promise<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    const reason =
      cause instanceof SyntaxError || cause instanceof z.ZodError ? "not a JSON object" : "not readable";
    throw new RepriseError("invalid_request", `${file} is ${reason}.`, { cause });
  }
}
