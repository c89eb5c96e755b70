import {
  type LabelSelector,
  matches,
  NAME_LABEL,
  type PolicyPeer,
  type PolicyRule,
  type Resource,
  type Workload,
  workloadsOf,
} from "./resources.ts";

/** Whoever is in no workload of the overlay, by the labels of its namespace and pod. */
interface Stranger {
  readonly name: string;
  readonly namespace: Readonly<Record<string, string>>;
  readonly pod: Readonly<Record<string, string>>;
}

const NAMESPACE = "kubernetes.io/metadata.name";
const STRANGERS: readonly Stranger[] = [
  {
    name: "prometheus",
    namespace: { [NAMESPACE]: "monitoring" },
    pod: { [NAME_LABEL]: "prometheus" },
  },
  {
    name: "exporter of NATS",
    namespace: { [NAMESPACE]: "monitoring" },
    pod: { [NAME_LABEL]: "prometheus-nats-exporter" },
  },
  { name: "another pod of monitoring", namespace: { [NAMESPACE]: "monitoring" }, pod: {} },
  { name: "prometheus elsewhere", namespace: { [NAMESPACE]: "other" }, pod: { [NAME_LABEL]: "prometheus" } },
  { name: "another namespace", namespace: { [NAMESPACE]: "other" }, pod: { [NAME_LABEL]: "delivery" } },
  { name: "the internet", namespace: {}, pod: {} },
];

type Direction = "Ingress" | "Egress";

interface Policies {
  /** The rules of all policies that select a pod in a direction; undefined where none does, and all is allowed. */
  rulesOf(workload: Workload, direction: Direction): readonly PolicyRule[] | undefined;
}

function policiesOf(resources: readonly Resource[]): Policies {
  const policies = resources.filter(({ kind }) => kind === "NetworkPolicy");
  return {
    rulesOf({ labels }, direction) {
      const selecting = policies.filter(
        ({ spec }) => matches(spec?.podSelector ?? {}, labels) && spec?.policyTypes?.includes(direction),
      );
      if (selecting.length === 0) return undefined;
      return selecting.flatMap(({ spec }) => (direction === "Ingress" ? spec?.ingress : spec?.egress) ?? []);
    },
  };
}

function isPeer(peers: readonly PolicyPeer[] | undefined, is: (peer: PolicyPeer) => boolean): boolean {
  // A rule without peers is for all.
  return peers === undefined || peers.some(is);
}

const isOwn =
  ({ labels }: Workload) =>
  ({ podSelector, namespaceSelector, ipBlock }: PolicyPeer) =>
    ipBlock === undefined && namespaceSelector === undefined && matches(podSelector ?? {}, labels);

const isStranger =
  ({ namespace, pod, name }: Stranger) =>
  ({ podSelector = {}, namespaceSelector, ipBlock }: PolicyPeer) =>
    ipBlock !== undefined
      ? name === "the internet" && ipBlock.cidr === "0.0.0.0/0"
      : namespaceSelector !== undefined && matches(namespaceSelector, namespace) && matches(podSelector, pod);

function allowsPort(rule: PolicyRule, port: { name: string; containerPort: number }): boolean {
  return (
    rule.ports === undefined ||
    rule.ports.some(
      (allowed) =>
        allowed.protocol === "TCP" && (allowed.port === port.name || allowed.port === port.containerPort),
    )
  );
}

/** Who may open a connection to which port of whom, as `delivery → nats:nats`. Both the one's egress and the other's ingress have to allow it. */
export function allowedPairs(resources: readonly Resource[]): string[] {
  const workloads = workloadsOf(resources);
  const policies = policiesOf(resources);
  return workloads.flatMap((to) =>
    (to.container.ports ?? []).flatMap((port) => {
      const ingress = policies.rulesOf(to, "Ingress");
      const lets = (is: (peer: PolicyPeer) => boolean) =>
        ingress === undefined || ingress.some((rule) => allowsPort(rule, port) && isPeer(rule.from, is));
      const own = workloads.filter((from) => {
        const egress = policies.rulesOf(from, "Egress");
        const isLetOut =
          egress === undefined || egress.some((rule) => allowsPort(rule, port) && isPeer(rule.to, isOwn(to)));
        return isLetOut && lets(isOwn(from));
      });
      const strangers = STRANGERS.filter((stranger) => lets(isStranger(stranger)));
      return [...own, ...strangers].map(({ name }) => `${name} → ${to.name}:${port.name}`);
    }),
  );
}

/** Where else a workload may connect to: `delivery → namespace kube-system:53`. */
export function allowedOutside(resources: readonly Resource[]): string[] {
  const policies = policiesOf(resources);
  const pairs = workloadsOf(resources).flatMap((from) =>
    (policies.rulesOf(from, "Egress") ?? [{}]).flatMap(
      ({ to = [{ ipBlock: { cidr: "anywhere" } }], ports }) =>
        to.flatMap((peer) => {
          const where = describe(peer);
          const at = ports?.map(({ port }) => port).join() ?? "any";
          return where === undefined ? [] : `${from.name} → ${where}:${at}`;
        }),
    ),
  );
  return [...new Set(pairs)];
}

function describe({ namespaceSelector, ipBlock }: PolicyPeer): string | undefined {
  if (ipBlock) return [ipBlock.cidr, ...(ipBlock.except ?? []).map((range) => `!${range}`)].join(" ");
  return namespaceSelector && `namespace ${labelsIn(namespaceSelector)}`;
}

function labelsIn({ matchLabels = {} }: LabelSelector): string {
  return Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join();
}
