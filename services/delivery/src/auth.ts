import type { Principal, Role, TenantDirectory } from "@reprise/tenancy";
import { RepriseError } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/** Answers who is calling; every route that touches a tenant's data asks it first. Any one of the roles will do. */
export type Authenticate = (request: FastifyRequest, ...roles: readonly [Role, ...Role[]]) => Principal;

/**
 * @throws RepriseError `unauthenticated` without a known API key, `forbidden` when the key lacks the role
 */
export function createAuthenticate(tenants: TenantDirectory): Authenticate {
  return (request, ...roles) => {
    const [scheme, token] = request.headers.authorization?.split(" ") ?? [];
    const caller = scheme?.toLowerCase() === "bearer" && token ? tenants.authenticate(token) : undefined;
    if (!caller) {
      throw new RepriseError("unauthenticated", "Send a known API key as `Authorization: Bearer <key>`.", {
        param: "Authorization",
      });
    }
    if (!roles.some((role) => caller.roles.has(role))) throw lacksRole(roles[0]);
    return caller;
  };
}

/** What a call is answered whose key must not make it. */
export function lacksRole(role: Role): RepriseError {
  return new RepriseError("forbidden", `This API key lacks the role "${role}".`, { param: "Authorization" });
}
