import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TargetOptions } from "@reprise/conformance";
import { createTempDir } from "@reprise/testkit";
import { startPlatform } from "./platform.ts";

const KEYS = {
  key: "rk_acme_0123456789abcdef",
  noReadKey: "rk_acme_without_read_0123",
  otherKey: "rk_globex_0123456789abcdef",
  limitedKey: "rk_small_0123456789abcdef",
} as const;

/** A busy machine ends no generation. */
const POLICY = { timeouts: { queue: { after_ms: 600_000 }, first_token: { after_ms: 600_000 } } };
const ROLES = ["create", "read", "cancel", "tool"];
const TENANTS = {
  tenants: [
    {
      id: "acme",
      policy: POLICY,
      keys: [
        { secret: KEYS.key, roles: ROLES },
        { secret: KEYS.noReadKey, roles: ["create", "cancel", "tool"] },
      ],
    },
    { id: "globex", policy: POLICY, keys: [{ secret: KEYS.otherKey, roles: ROLES }] },
    {
      id: "small",
      keys: [{ secret: KEYS.limitedKey, roles: ["read"] }],
      limits: { tenant: { requests_per_minute: 2 } },
    },
  ],
};
const MODELS = {
  models: { sim: { engine: "sim" }, plain: { engine: "sim", capabilities: { tools: false } } },
};

/** `services/standalone` with the tenants, keys and models that the conformance suite can use. */
export async function startConformanceTarget(): Promise<TargetOptions & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("conformance"));
  const tenants = join(dir.path, "tenants.json");
  const models = join(dir.path, "models.json");
  await writeFile(tenants, JSON.stringify(TENANTS));
  await writeFile(models, JSON.stringify(MODELS));
  const { url } = stack.use(
    await startPlatform(dir.path, {
      REPRISE_TENANTS_FILE: tenants,
      REPRISE_TENANTS_SOURCE: "file",
      REPRISE_MODELS_FILE: models,
      REPRISE_AUDIT: "off",
      REPRISE_ANALYTICS: "off",
    }),
  );
  const kept = stack.move();
  return { url, ...KEYS, timeoutMs: 120_000, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
