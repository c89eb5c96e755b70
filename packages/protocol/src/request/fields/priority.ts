/** The priorities of one tenant's generations of a model: interactive ones get a slot first. */
export const PRIORITIES = ["interactive", "batch"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The priority of a request without one. */
export const DEFAULT_PRIORITY = "interactive" satisfies Priority;

/** The tiers of OpenAI's API. */
export const SERVICE_TIERS = ["auto", "default", "flex", "priority"] as const;
type ServiceTier = (typeof SERVICE_TIERS)[number];

/** Returns the priority of a tier, undefined for `auto`. A tier does not change the share between tenants: that follows their weights. */
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
