import { GENERATION_DASHBOARD } from "./generation.ts";
import type { Dashboard } from "./panels.ts";
import { PLATFORM } from "./platform.ts";
import { TENANT } from "./tenant.ts";

/** All dashboards, by the name of their file. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  platform: PLATFORM,
  tenant: TENANT,
  generation: GENERATION_DASHBOARD,
};
