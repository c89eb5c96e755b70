import { readFile } from "node:fs/promises";
import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import type { CommandIo } from "@reprise/service";
import { openAdminApi } from "../admin-api.ts";
import { type Command, parseCall, writeJson, writeLine } from "../command.ts";

const JSON_OPTION = { json: { type: "boolean" } } as const;
const PAGE = 1_000;

const tenantSchema = z.looseObject({ id: z.string() });
const pageSchema = z.object({
  data: z.array(z.looseObject({ id: z.string(), keys: z.int() })),
  has_more: z.boolean(),
});
const policySchema = z.looseObject({ object: z.literal("tenant_policy") });

export const tenantAdd: Command = {
  summary: "adds a tenant; it has no keys yet",
  usage: `reprise-admin tenant add <tenant> [--settings <file>]
  --settings <file>  JSON as \`tenant policy\` prints it: policy, audit, models, limits, slots, budgets, conversations, cors_origins
  --json             the platform's answer`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], {
      ...JSON_OPTION,
      settings: { type: "string" },
    });
    const [id] = positionals;
    const settings = values.settings === undefined ? {} : await readSettings(values.settings);
    const { body } = await openAdminApi(io)("", {
      method: "POST",
      body: { ...settings, id },
      schema: tenantSchema,
    });
    if (values.json) writeJson(io.out, body);
    else writeLine(io.out, body.id);
  },
};

export const tenantList: Command = {
  summary: "lists the tenants, and how many keys each has",
  usage: `reprise-admin tenant list
  --json             one list of all`,
  async run(args, io) {
    const { values } = parseCall(args, [], JSON_OPTION);
    const all = await listTenants(openAdminApi(io));
    if (values.json) writeJson(io.out, all);
    else for (const { id, keys } of all) writeLine(io.out, `${id}\t${keys} ${keys === 1 ? "key" : "keys"}`);
  },
};

export const tenantShow: Command = {
  summary: "shows a tenant: settings, keys, signing keys, revocations",
  usage: "reprise-admin tenant show <tenant>",
  async run(args, io) {
    const { positionals } = parseCall(args, ["tenant"], JSON_OPTION);
    const { body } = await openAdminApi(io)(pathOf(positionals[0]), { schema: tenantSchema });
    writeJson(io.out, body);
  },
};

export const tenantPolicy: Command = {
  summary: "shows a tenant's settings, or replaces them",
  usage: `reprise-admin tenant policy <tenant> [--set <file>] [--if-match <etag>]
  --set <file>       replaces all settings by this JSON: what is not in it has its default again
  --if-match <etag>  only if the tenant has not changed since; the etag is written to standard error`,
  async run(args, io) {
    const { values, positionals } = parseCall(args, ["tenant"], {
      ...JSON_OPTION,
      set: { type: "string" },
      "if-match": { type: "string" },
    });
    const path = `${pathOf(positionals[0])}/policy`;
    const call =
      values.set === undefined
        ? { schema: policySchema }
        : ({
            method: "PUT",
            body: await readSettings(values.set),
            ifMatch: values["if-match"],
            schema: policySchema,
          } as const);
    const { body, etag } = await openAdminApi(io)(path, call);
    // As `--set` takes it.
    const { object: _, ...settings } = body;
    writeJson(io.out, settings);
    if (etag !== undefined) writeLine(io.err, `etag: ${etag}`);
  },
};

export const tenantRemove: Command = {
  summary:
    "removes a tenant for good: its keys are refused at once; its generations stay as long as logs are kept; its id is never given again",
  usage: "reprise-admin tenant remove <tenant>",
  async run(args, io) {
    const { positionals } = parseCall(args, ["tenant"], JSON_OPTION);
    await openAdminApi(io)(pathOf(positionals[0]), { method: "DELETE", schema: z.undefined() });
    done(io, `${positionals[0]} is removed.`);
  },
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

/** Of what has no answer but that it was done. */
export function done({ err }: CommandIo, message: string): void {
  writeLine(err, message);
}

export function pathOf(tenant: string | undefined): string {
  return `/${encodeURIComponent(tenant ?? "")}`;
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
