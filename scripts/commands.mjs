/** @typedef {{ args: readonly string[], needsBroker: (env: NodeJS.ProcessEnv) => boolean }} Command */

/**
 * What `node scripts/run.mjs <command>` runs, as arguments to Node 24; the caller's own arguments follow.
 *
 * @type {Readonly<Record<string, Command>>}
 */
export const COMMANDS = {
  start: { args: ["services/standalone/src/main.ts"], needsBroker: (env) => !env["REPRISE_NATS_URL"] },
  demo: { args: ["services/standalone/src/demo/main.ts"], needsBroker: () => true },
  test: { args: ["scripts/test/main.ts", "gate"], needsBroker: () => true },
  "test:all": { args: ["scripts/test/main.ts", "all"], needsBroker: () => true },
  "test:fault": { args: ["test/fault/main.ts"], needsBroker: () => true },
  "test:infra": { args: ["test/infra/main.ts"], needsBroker: () => true },
  "docker:engine": { args: ["test/infra/engine/main.ts"], needsBroker: () => false },
  "test:engine": { args: ["test/engine/main.ts"], needsBroker: () => true },
  chaos: { args: ["test/fault/chaos/main.ts"], needsBroker: () => true },
  soak: { args: ["test/fault/soak/main.ts"], needsBroker: () => true },
  drill: { args: ["test/fault/drill/main.ts"], needsBroker: () => true },
  nats: { args: ["infra/nats/main.ts"], needsBroker: () => false },
  redis: { args: ["infra/redis/main.ts"], needsBroker: () => false },
  observability: { args: ["infra/observability/main.ts"], needsBroker: () => false },
  moderation: { args: ["services/moderation/src/cli/main.ts"], needsBroker: () => false },
  audit: { args: ["services/audit-log/src/cli/main.ts"], needsBroker: () => false },
  usage: { args: ["services/analytics/src/cli/main.ts"], needsBroker: () => false },
  admin: { args: ["services/delivery/src/cli/main.ts"], needsBroker: () => false },
  bench: { args: ["test/bench/main.ts"], needsBroker: () => true },
  scaling: { args: ["test/bench/plot-scaling.ts"], needsBroker: () => false },
  capacity: { args: ["test/bench/plan-capacity.ts"], needsBroker: () => false },
  pack: { args: ["scripts/pack/main.ts"], needsBroker: () => false },
  "release:check": { args: ["scripts/release/main.ts"], needsBroker: () => true },
  check: { args: ["scripts/check/main.ts"], needsBroker: () => false },
  fix: { args: ["scripts/check/fix.ts"], needsBroker: () => false },
};
