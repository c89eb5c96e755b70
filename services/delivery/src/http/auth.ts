import type { Principal, Role, TenantDirectory } from "@reprise/tenancy";
import { RepriseError } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** A key with any one of them may make the call. */
    roles?: readonly [Role, ...Role[]];
    /** Whether the call needs no key: health, metrics, and a browser's preflight. */
    isOpen?: boolean;
    /** Whether the route counts its calls itself, together with what they take beside. */
    countsItself?: boolean;
    /** False where no page may read the answer. */
    cors?: false;
  }
}

/** The caller, from the headers alone, so that a body without a valid key is never read. */
export interface Authentication {
  /**
   * Admits a request. A route without a configuration of its own needs a key.
   * @throws RepriseError `unauthenticated` without a known API key, `forbidden` when the key has none of the route's roles
   */
  admit(request: FastifyRequest): void;
  /** The holder of the key of a request that was admitted. */
  principalOf(request: FastifyRequest): Principal;
  /** The same; undefined where the route needs no key. */
  findPrincipal(request: FastifyRequest): Principal | undefined;
}

export function createAuthentication(tenants: TenantDirectory): Authentication {
  const principals = new WeakMap<FastifyRequest, Principal>();
  return {
    admit(request) {
      const { roles, isOpen } = request.routeOptions.config;
      if (isOpen || (request.is404 && !request.url.startsWith("/v1/"))) return;
      const [scheme, token] = request.headers.authorization?.split(" ") ?? [];
      const caller = scheme?.toLowerCase() === "bearer" && token ? tenants.authenticate(token) : undefined;
      if (!caller) {
        throw new RepriseError("unauthenticated", "Send a known API key as `Authorization: Bearer <key>`.", {
          param: "Authorization",
        });
      }
      if (roles && !roles.some((role) => caller.roles.has(role))) throw lacksRole(roles[0]);
      principals.set(request, caller);
    },
    findPrincipal: (request) => principals.get(request),
    principalOf(request) {
      const principal = principals.get(request);
      if (!principal) throw new RepriseError("internal", "A route was entered without a key.");
      return principal;
    },
  };
}

/** What a call is answered whose key must not make it. */
export function lacksRole(role: Role): RepriseError {
  return new RepriseError("forbidden", `This API key lacks the role "${role}".`, { param: "Authorization" });
}
