import type { FastifyInstance } from "fastify";
import type { AdminContext } from "./admin-call.ts";
import { addBudgetRoutes } from "./budget-routes.ts";
import { addKeyRoutes } from "./key-routes.ts";
import { addRevocationRoutes } from "./revocation-routes.ts";
import { addSigningKeyRoutes } from "./signing-key-routes.ts";
import { addTokenKeyRoutes } from "./token-key-routes.ts";
import { addTenantRoutes } from "./tenant-routes.ts";

/** The methods of each path. */
export const ADMIN_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/admin/tenants": ["GET", "POST"],
  "/v1/admin/tenants/:id": ["GET", "DELETE"],
  "/v1/admin/tenants/:id/policy": ["GET", "PUT"],
  "/v1/admin/tenants/:id/keys": ["GET", "POST"],
  "/v1/admin/tenants/:id/keys/:key": ["GET", "DELETE"],
  "/v1/admin/tenants/:id/keys/:key/rotate": ["POST"],
  "/v1/admin/tenants/:id/signing-keys": ["GET", "POST"],
  "/v1/admin/tenants/:id/signing-keys/:key": ["GET", "DELETE"],
  "/v1/admin/tenants/:id/signing-keys/:key/rotate": ["POST"],
  "/v1/admin/tenants/:id/revocations": ["GET", "POST"],
  "/v1/admin/tenants/:id/budgets/seed": ["POST"],
  "/v1/admin/token-keys": ["GET"],
  "/v1/admin/token-keys/rotate": ["POST"],
};

/** The admin API: by the operator's key for all tenants, by a key with the role `admin` for its own. */
export function addAdminRoutes(app: FastifyInstance, context: AdminContext): void {
  addTenantRoutes(app, context);
  addKeyRoutes(app, context);
  addSigningKeyRoutes(app, context);
  addRevocationRoutes(app, context);
  addBudgetRoutes(app, context);
  addTokenKeyRoutes(app, context);
}
