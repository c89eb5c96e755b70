import type { GenerationId, Policy, TenantId, UnixMs } from "@reprise/protocol";
import type { Budget } from "../budgets/budget-settings.ts";
import type { TenantLimits } from "../limits/tenant-limits.ts";
import type { ConversationSettings } from "../records/conversation-settings.ts";
import type { TenantSlots } from "../records/tenant-record.ts";
import type { Role } from "../records/roles.ts";
import type { PublicKey } from "../tokens/public-key.ts";
import type { TokenTemplate } from "../tokens/token-template.ts";

/** Holder of a bearer token, and its rights. */
export interface Principal {
  readonly tenant: TenantId;
  readonly roles: ReadonlySet<Role>;
  /** Name in the log for actions with the token. Not a secret, and unique within this tenant alone. */
  readonly holder: string;
  /** The tenant's own policy: a request's can only tighten it. */
  readonly policy: Policy;
  /** The models that requests may name. Undefined: all. */
  readonly models?: ReadonlySet<string> | undefined;
  /** The tenant's limits. Undefined: none. */
  readonly limits?: TenantLimits | undefined;
  /** The tenant's share of each model's slots. Undefined: as other tenants without a limit. */
  readonly slots?: TenantSlots | undefined;
  /** The tenant's budgets for each period. Undefined: no limit. */
  readonly budgets?: readonly Budget[] | undefined;
  /** Settings of the tenant's conversations. Undefined: those of `CONVERSATION_LIMITS`. */
  readonly conversations?: ConversationSettings | undefined;
  /** When the bucket has stored the tenant's record, in microseconds. */
  readonly storedAtUs?: number | undefined;
  /** The API key's id; of a stream token, the id of the key that signed it. */
  readonly keyId: string;
  /** From then on it is refused; `NEVER` for one that does not expire. */
  readonly expiresAtMs: UnixMs;
  /** The one generation that a stream token is for. */
  readonly generation?: GenerationId | undefined;
  /** The end user whom a stream token was made for. */
  readonly endUser?: string | undefined;
  /** Fields that a stream token fixes in the requests that it creates. */
  readonly template?: TokenTemplate | undefined;
  /** True if a stream token's requests may have moderation rules of their own. */
  readonly mayBringRules?: boolean | undefined;
  /** A stream token's `jti`; undefined for an API key. */
  readonly tokenId?: string | undefined;
  /** The public key that a stream token was signed with. */
  readonly publicKey?: PublicKey | undefined;
  /** When a stream token was issued: revocations compare with it. */
  readonly issuedAtMs?: UnixMs | undefined;
}
