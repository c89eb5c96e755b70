import type { Priority } from "../priority.ts";

/** As OpenAI's API names them. */
export const SERVICE_TIERS = ["auto", "default", "flex", "priority"] as const;
type ServiceTier = (typeof SERVICE_TIERS)[number];

/** The priority that a tier stands for; undefined where it asks for none. Tenants are kept apart by their weights, whatever they ask for. */
export function priorityOf(tier: ServiceTier): Priority | undefined {
  switch (tier) {
    case "auto":
      return undefined;
    case "flex":
      return "batch";
    case "default":
    case "priority":
      return "interactive";
  }
}
