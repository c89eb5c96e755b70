/**
 * @typedef {object} Command
 * @property {readonly string[]} args
 * @property {(env: NodeJS.ProcessEnv) => boolean} needsBroker
 * @property {string} [help] what `--help` prints, of a command whose program does not print it itself
 */

/**
 * Commands of `node scripts/run.mjs`, as arguments to Node 24; the caller's own arguments follow.
 *
 * @type {Readonly<Record<string, Command>>}
 */
export const COMMANDS = {
  start: {
    args: ["services/standalone/src/main.ts"],
    needsBroker: (env) => !env["REPRISE_NATS_URL"],
    help: "npm start: the whole platform in one process, with a nats-server of its own. Its settings are environment variables: docs/configuration.md.",
  },
  demo: {
    args: ["services/standalone/src/demo/main.ts"],
    needsBroker: () => true,
    help: "npm run demo: shows a resume, a cancel, a redaction and the audit log at a platform of its own; some 20 s.",
  },
  test: { args: ["scripts/test/main.ts", "gate"], needsBroker: () => true },
  "test:all": { args: ["scripts/test/main.ts", "all"], needsBroker: () => true },
  "test:fault": { args: ["test/fault/main.ts"], needsBroker: () => true },
  chaos: { args: ["test/fault/chaos/main.ts"], needsBroker: () => true },
  soak: { args: ["test/fault/soak/main.ts"], needsBroker: () => true },
  nats: { args: ["infra/nats/main.ts"], needsBroker: () => false },
  redis: { args: ["infra/redis/main.ts"], needsBroker: () => false },
  observability: {
    args: ["infra/observability/main.ts"],
    needsBroker: () => false,
    help: "npm run observability: rewrites infra/observability/generated.",
  },
  moderation: { args: ["services/moderation/src/cli/main.ts"], needsBroker: () => false },
  audit: { args: ["services/audit-log/src/cli/main.ts"], needsBroker: () => false },
  usage: { args: ["services/analytics/src/cli/main.ts"], needsBroker: () => false },
  admin: { args: ["services/delivery/src/cli/main.ts"], needsBroker: () => false },
  bench: { args: ["test/bench/main.ts"], needsBroker: () => true },
  pack: {
    args: ["scripts/pack/main.ts"],
    needsBroker: () => false,
    help: "npm run pack: makes the packages that are published, in the data folder.",
  },
  check: {
    args: ["scripts/check/main.ts"],
    needsBroker: () => false,
    help: "npm run check: types, lint, dead code, imports, format and the rules of the repository.",
  },
  fix: {
    args: ["scripts/check/fix.ts"],
    needsBroker: () => false,
    help: "npm run fix: mends what check can mend by itself.",
  },
};
