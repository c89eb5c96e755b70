import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type Command, parseCall, writeJson, writeLine } from "../command.ts";
import { formatTable } from "../format-table.ts";
import { listTenants, pathOf } from "./tenant.ts";

const seededSchema = z.object({
  data: z.array(
    z.looseObject({
      name: z.string(),
      period: z.string(),
      limit: z.string(),
      used_before: z.string(),
      used: z.string(),
      unpriced: z.int(),
    }),
  ),
});

export const budgetsSeed: Command = {
  summary: "tells budgets whose Redis has lost its data what analytics' rows say was used in this period",
  usage: `reprise-admin budgets seed <tenant> | --all
  --all              those of all tenants
  --json             the platform's answers`,
  async run(args, io) {
    const isAll = args.includes("--all");
    const { values, positionals } = parseCall(args, isAll ? [] : ["tenant"], {
      json: { type: "boolean" },
      all: { type: "boolean" },
    });
    const api = openAdminApi(io);
    const tenants = isAll ? (await listTenants(api)).map(({ id }) => id) : positionals;
    const seeded: ({ tenant: string } & z.infer<typeof seededSchema>["data"][number])[] = [];
    for (const tenant of tenants) {
      const call = { method: "POST", body: {}, schema: seededSchema } as const;
      const { body } = await api(`${pathOf(tenant)}/budgets/seed`, call);
      seeded.push(...body.data.map((budget) => ({ tenant, ...budget })));
    }
    if (values.json) return writeJson(io.out, seeded);
    const head = ["tenant", "budget", "period", "limit", "used before", "used", "unpriced"];
    const rows = seeded.map(({ tenant, name, period, limit, used_before, used, unpriced }) => [
      tenant,
      name,
      period,
      limit,
      used_before,
      used,
      `${unpriced}`,
    ]);
    writeLine(io.out, formatTable([head, ...rows]));
  },
};
