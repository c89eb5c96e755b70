import { describe, expect, test } from "vitest";
import { allowedOutside, allowedPairs } from "./testing/network-pairs.ts";
import { type BuildName, BUILDS, buildOverlay } from "./testing/overlay.ts";
import { NAME_LABEL, type Resource } from "./testing/resources.ts";

const BROKER_SERVICES = ["delivery", "inference-worker", "moderation", "audit-log", "analytics"];

/** Who may open a connection to which port of whom. */
const PAIRS = [
  // Clients, from anywhere.
  "prometheus → delivery:api",
  "another pod of monitoring → delivery:api",
  "prometheus elsewhere → delivery:api",
  "exporter of NATS → delivery:api",
  "another namespace → delivery:api",
  "the internet → delivery:api",
  // Health and metrics.
  ...[...BROKER_SERVICES, "witness"].map((name) => `prometheus → ${name}:ops`),
  // The broker.
  ...[...BROKER_SERVICES, "nats-set-up"].map((name) => `${name} → nats:nats`),
  "nats → nats:routes",
  "exporter of NATS → nats:monitor",
  "delivery → redis:redis",
  "inference-worker → redis:redis",
  "audit-log → witness:api",
];

const EVERYTHING = [...BROKER_SERVICES, "witness", "nats", "nats-set-up", "redis"];
const DNS = EVERYTHING.flatMap((name) => [
  `${name} → namespace kubernetes.io/metadata.name=kube-system:53,53`,
  `${name} → 169.254.20.10/32:53,53`,
]);
const PUBLIC = [
  "0.0.0.0/0 !10.0.0.0/8 !100.64.0.0/10 !169.254.0.0/16 !172.16.0.0/12 !192.168.0.0/16:443",
  "2000::/3:443",
];
const ENGINES = ["inference-worker", "moderation"].flatMap((name) => [
  ...PUBLIC.map((range) => `${name} → ${range}`),
  `${name} → namespace reprise/engines=true:any`,
]);

const S3 = ["audit-log", "analytics"].flatMap((name) => PUBLIC.map((range) => `${name} → ${range}`));

const MEDIA = PUBLIC.map((range) => `delivery → ${range}`);

const OUTSIDE: Readonly<Record<BuildName, readonly string[]>> = {
  dev: DNS,
  production: [...DNS, ...ENGINES],
  "all components": [...DNS, ...ENGINES, ...S3, ...MEDIA],
};

describe.each(BUILDS)("in the overlay %s", (name) => {
  test("exactly these pairs may connect", async () => {
    expect(allowedPairs(await buildOverlay(name)).toSorted()).toEqual(PAIRS.toSorted());
  });

  test("exactly these connections lead out of the namespace", async () => {
    expect(allowedOutside(await buildOverlay(name)).toSorted()).toEqual(OUTSIDE[name].toSorted());
  });
});

const NEWCOMER: Resource = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "newcomer" },
  spec: {
    template: {
      metadata: { labels: { [NAME_LABEL]: "newcomer" } },
      spec: {
        containers: [{ name: "newcomer", image: "newcomer:1", ports: [{ name: "api", containerPort: 80 }] }],
      },
    },
  },
};

test("a workload that no policy names may be reached by none, and reach none but DNS", async () => {
  const resources = [...(await buildOverlay("dev")), NEWCOMER];
  expect(allowedPairs(resources).toSorted()).toEqual(PAIRS.toSorted());
  const outside = allowedOutside(resources).filter((pair) => pair.startsWith("newcomer"));
  expect(outside).toEqual(DNS.slice(0, 2).map((pair) => pair.replace("delivery", "newcomer")));

  const isRefusal = ({ metadata }: Resource) => metadata.name === "nothing";
  const open = allowedPairs(resources.filter((resource) => !isRefusal(resource)));
  expect(open).toContain("the internet → newcomer:api");
});
