// Who may import whom. `test/house/boundaries.test.ts` plants a violation of every rule and sees it fail.

/** Libraries from the bottom up: each may import those before it. */
const LAYERS = [
  "async",
  "protocol",
  "projections",
  "archive",
  "broker",
  "moderation",
  "jobs",
  "stream",
  "blobs",
  "conversations",
  "facts",
  "runtime",
  "tenancy",
  "client",
  "conformance",
  "testkit",
];

/** Files that only tests load. */
const FOR_TESTS = "\\.(test|fixture)\\.ts$|/testing/|^packages/testkit/";

/** What runs in production. */
const source = (folder) => ({ path: `^${folder}/src/`, pathNot: FOR_TESTS });

const layerRules = LAYERS.filter(
  (name) => !["async", "protocol", "projections", "client", "conformance", "testkit"].includes(name),
).map((name) => ({
  name: `layers-${name}`,
  comment: `${name} imports only libraries further down.`,
  severity: "error",
  from: source(`packages/${name}`),
  to: { path: `^packages/(${LAYERS.slice(LAYERS.indexOf(name) + 1).join("|")})/` },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: "no-circular",
      comment: "Files of a circle can only be read together, whether it is of types alone or not.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "resolvable",
      comment: "A dependency that can't be found is one that no other rule sees.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "protocol-is-pure",
      comment: "protocol runs in a browser: nothing but zod, no node:*.",
      severity: "error",
      from: source("packages/protocol"),
      to: { pathNot: "^packages/protocol/|/node_modules/zod/|^node_modules/zod/" },
    },
    {
      name: "moderation-is-pure",
      comment: "Rules and visibility are functions of text and events: protocol and re2js, no node:*.",
      severity: "error",
      from: { path: "^packages/moderation/src/(rules|visibility)/", pathNot: FOR_TESTS },
      to: {
        pathNot:
          "^packages/moderation/src/(rules|visibility)/|^packages/protocol/|/node_modules/re2js/|^node_modules/re2js/",
      },
    },
    {
      name: "facts-are-pure",
      comment: "Numbers are a function of events: nothing but protocol and zod, no node:*.",
      severity: "error",
      from: { path: "^packages/facts/src/", pathNot: `${FOR_TESTS}|^packages/facts/src/(lane|tables)/` },
      to: {
        pathNot:
          "^packages/facts/src/(?!lane/|tables/)|^packages/protocol/|/node_modules/zod/|^node_modules/zod/",
      },
    },
    {
      name: "projections-are-pure",
      comment: "A projection is a function of events: nothing but protocol and zod, no node:*.",
      severity: "error",
      from: source("packages/projections"),
      to: { pathNot: "^packages/(projections|protocol)/|/node_modules/zod/|^node_modules/zod/" },
    },
    {
      name: "client-is-portable",
      comment: "client runs in a browser and is published: protocol alone, no node:*.",
      severity: "error",
      from: source("packages/client"),
      to: { pathNot: "^packages/(client|protocol)/" },
    },
    {
      name: "conformance-shares-nothing",
      comment: "conformance shares no code with what it tests: nothing but node:*.",
      severity: "error",
      from: source("packages/conformance"),
      to: { path: "^packages/(?!conformance/)|node_modules/" },
    },
    {
      name: "services-apart",
      comment: "Services meet in NATS subjects and protocol; only standalone composes them.",
      severity: "error",
      from: { path: "^services/([^/]+)/", pathNot: "^services/standalone/" },
      to: { path: "^services/", pathNot: "^services/$1/" },
    },
    {
      name: "libraries-below-services",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^services/" },
    },
    {
      name: "through-the-door",
      comment: "Another workspace is imported by what its package.json exports.",
      severity: "error",
      from: { path: "^(packages|services)/([^/]+)/" },
      to: {
        path: "^(packages|services)/[^/]+/src/",
        pathNot: [
          "^$1/$2/",
          "^[^/]+/[^/]+/src/((input|lane|tables|telemetry)/)?(testing/)?(index|service|wire|certificates)\\.ts$",
        ],
      },
    },
    {
      name: "extensions-can-be-deleted",
      comment: "Their list alone imports them: each is deleted with its folder and its line.",
      severity: "error",
      from: { path: "^services/delivery/src/", pathNot: "^services/delivery/src/extensions(/|\\.ts$)" },
      to: { path: "^services/delivery/src/extensions/" },
    },
    {
      name: "extensions-apart",
      severity: "error",
      from: { path: "^services/delivery/src/extensions/([^/]+)/" },
      to: {
        path: "^services/delivery/src/extensions/",
        pathNot: "^services/delivery/src/extensions/$1/",
      },
    },
    {
      name: "testkit-is-for-tests",
      severity: "error",
      from: source("(packages|services)/[^/]+"),
      to: { path: "^packages/testkit/" },
    },
    {
      name: "tests-stay-out",
      comment: "What runs in production imports no test and no fixture.",
      severity: "error",
      from: source("(packages|services)/[^/]+"),
      to: { path: "\\.(test|fixture)\\.ts$|/testing/" },
    },
    {
      name: "tokens-untraced",
      comment: "What each token passes through is not traced: a span is begun and ended outside of it.",
      severity: "error",
      from: {
        path: "^services/(delivery/src/readers/streams|inference-worker/src/engines)/",
        pathNot: FOR_TESTS,
      },
      to: { path: "^packages/runtime/src/telemetry/" },
    },
    {
      name: "opentelemetry-in-one-folder",
      comment: "OpenTelemetry is loaded where a collector is configured, by one dynamic import.",
      severity: "error",
      from: { path: "^(packages|services)/", pathNot: `${FOR_TESTS}|^packages/runtime/src/telemetry/otlp/` },
      to: { path: "node_modules/@opentelemetry/" },
    },
    {
      name: "declared-dependencies",
      comment: "What runs in production imports only what its own package.json lists under dependencies.",
      severity: "error",
      from: {
        path: "^(packages|services)/[^/]+/src/",
        pathNot: "\\.(test|fixture)\\.ts$|/testing/|^packages/testkit/",
      },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
