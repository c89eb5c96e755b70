import { analyticsBudget, analyticsUsage } from "./commands/analytics.ts";
import { budgetsSeed } from "./commands/budgets.ts";
import type { Command } from "./command.ts";
import { keyCreate, keyList, keyRevoke, keyRotate } from "./commands/key.ts";
import { signingKeyAdd, signingKeyList, signingKeyRemove, signingKeyRotate } from "./commands/signing-key.ts";
import { tenantAdd, tenantList, tenantPolicy, tenantRemove, tenantShow } from "./commands/tenant.ts";
import { tokenRevocations, tokenRevoke } from "./commands/revocation.ts";
import { tokenKeyList, tokenKeyRotate } from "./commands/token-key.ts";
import { tokenMint } from "./commands/token.ts";

/** By their two words, in the order in which they are listed. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  "tenant add": tenantAdd,
  "tenant list": tenantList,
  "tenant show": tenantShow,
  "tenant policy": tenantPolicy,
  "tenant remove": tenantRemove,
  "key create": keyCreate,
  "key rotate": keyRotate,
  "key revoke": keyRevoke,
  "key list": keyList,
  "signing-key add": signingKeyAdd,
  "signing-key rotate": signingKeyRotate,
  "signing-key remove": signingKeyRemove,
  "signing-key list": signingKeyList,
  "token mint": tokenMint,
  "token revoke": tokenRevoke,
  "token revocations": tokenRevocations,
  "token-key rotate": tokenKeyRotate,
  "token-key list": tokenKeyList,
  "budgets seed": budgetsSeed,
  "analytics budget": analyticsBudget,
  "analytics usage": analyticsUsage,
};
