export { assertKnownClassifiers, assertKnownClassifiersOf } from "./file/assert-known-classifiers.ts";
export { createDevTenant, type DevTenant } from "./file/dev-tenant.ts";
export {
  createTenantDirectory,
  type FixedTenantDirectory,
  type TenantDirectory,
} from "./directory/tenant-directory.ts";
export { tenantsSourceOf } from "./file/apply-tenants-file.ts";
export { followTenants, reportRefusedRecord } from "./directory/follow-tenants.ts";
export { openTenants, type Tenants } from "./open-tenants.ts";
export * from "./admin/change-tenant.ts";
export * from "./admin/change-signing-keys.ts";
export * from "./admin/change-revocations.ts";
export { viewKey, viewRevocation, viewSettings, viewSigningKey, viewTenant } from "./admin/tenant-view.ts";
export { readKeyUse } from "./directory/key-use.ts";
export { keyIdOf } from "./records/key-record.ts";
export { createOperatorKey, hashKey } from "./keys/create-api-key.ts";
export { tenantNotFound, type TenantStore } from "./store/tenant-store.ts";
export type { Principal } from "./directory/principal.ts";
export { loadTenantsFile, parseTenantsFile, type TenancyConfig } from "./file/tenants-file.ts";
export {
  type ConversationRules,
  conversationRulesOf,
  type ConversationSettings,
} from "./records/conversation-settings.ts";
export { type Role, ROLES } from "./records/roles.ts";
export { parseTenantRecord, type TenantRecord } from "./records/tenant-record.ts";
export type { AuditRetention, TenantConfig, TenantKey } from "./records/tenant.ts";
export {
  type StreamToken,
  TOKEN_LIMITS,
  TOKEN_SCOPES,
  type TokenScope,
  audienceSchema,
  keyIdSchema,
  scopesSchema,
  tokenIdSchema,
} from "./tokens/claims.ts";
export { isTokenShaped } from "./tokens/decode-token.ts";
export {
  parseTokenTemplate,
  PROMPT_ROLES,
  type TokenTemplate,
  UNBOUND_WARNING,
} from "./tokens/token-template.ts";
export { type MintedToken, mintStreamToken, type MintOptions } from "./tokens/mint-stream-token.ts";
export { forgettableAtMs, isRevokedBy, type TokenRevocation } from "./tokens/revocations.ts";
export {
  generateSigningKey,
  importPrivateKey,
  type PrivateKey,
  privateKeySchema,
  publicJwkSchema,
  toPublicKey,
} from "./tokens/signing-key.ts";
export type { PublicKey } from "./tokens/public-key.ts";
export {
  expiredToken,
  invalidToken,
  type TokenAuthority,
  verifyStreamToken,
} from "./tokens/verify-stream-token.ts";
export type { Counters, Decision, LeaseCheck, LimitCheck, RateCheck } from "./limits/counters.ts";
export { type RateState, takeUnits, waitForUnits } from "./limits/gcra.ts";
export { HeldLeases } from "./limits/held-leases.ts";
export { writeRedisConfig } from "./redis/write-redis-config.ts";
export { MemoryCounters } from "./limits/memory-counters.ts";
export { openShared, type SharedState } from "./open-shared.ts";
export {
  accountsOf,
  type BudgetAccount,
  chargesAt,
  type ModelPrices,
  startOf,
} from "./budgets/budget-account.ts";
export { type BudgetMeter, formatUnits, meterOf, unitsOfCost } from "./budgets/budget-meter.ts";
export { type Budget, maxOutputTokensSchema } from "./budgets/budget-settings.ts";
export type { BudgetClaim, BudgetGrant, BudgetLedger, BudgetReservation } from "./budgets/budget-ledger.ts";
export { FIRST_SLICE, MIN_SLICE, UNSEEN_TOKENS } from "./budgets/budget-ledger.ts";
export { budgetMetricsOf, type BudgetRefusal } from "./budgets/budget-metrics.ts";
export { MemoryLedger } from "./budgets/memory-ledger.ts";
export { toRateLimitHeaders } from "./limits/rate-limit-headers.ts";
export { type LimitUse, type TenantLimits, toLimitChecks } from "./limits/tenant-limits.ts";
export { openPlatformKeys, type PlatformKeys } from "./tokens/platform-keys.ts";
export { createStreamTokens, type StreamTokens, type TokenRequest } from "./directory/stream-tokens.ts";
