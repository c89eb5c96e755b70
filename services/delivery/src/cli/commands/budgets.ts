import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { openAdminApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, writeJson, writeLine } from "../command.ts";
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

export const addBudgetsCommands: AddCommands = (program, io) => {
  program
    .command("budgets")
    .description("restores what budgets have counted")
    .command("seed [tenant]")
    .description(
      "tells budgets whose Redis has lost its data what analytics' rows say was used in this period",
    )
    .option("--all", "those of all tenants")
    .option("--json", "the platform's answers")
    .action(async (named: string | undefined, { all, json }: JsonOption & { all?: true }) => {
      if ((named === undefined) === (all === undefined))
        throw new RepriseError("invalid_request", "Name a tenant or --all.");
      const api = openAdminApi(io);
      const tenants = named === undefined ? (await listTenants(api)).map(({ id }) => id) : [named];
      const seeded: ({ tenant: string } & z.infer<typeof seededSchema>["data"][number])[] = [];
      for (const tenant of tenants) {
        const call = { method: "POST", body: {}, schema: seededSchema } as const;
        const { body } = await api(`${pathOf(tenant)}/budgets/seed`, call);
        seeded.push(...body.data.map((budget) => ({ tenant, ...budget })));
      }
      if (json) return writeJson(io.out, seeded);
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
    });
};
