/*
 * As much of Kubernetes' types as the tests read. Whether the manifests have the types that Kubernetes gives them is the
 * business of `types.slow.test.ts`.
 */

export type Labels = Readonly<Record<string, string>>;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}

interface Reference {
  readonly name: string;
  readonly key: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: Reference;
    readonly configMapKeyRef?: Reference;
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

interface Item {
  readonly key: string;
  readonly path: string;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string };
    readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: { readonly exec?: { readonly command: readonly string[] } } };
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly securityContext?: unknown;
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
  readonly configMap?: { readonly name: string };
  readonly emptyDir?: object;
  readonly projected?: {
    readonly defaultMode?: number;
    readonly sources: readonly {
      readonly secret?: { readonly name: string; readonly items: readonly Item[] };
      readonly configMap?: { readonly name: string; readonly items: readonly Item[] };
    }[];
  };
}

export interface PodSpec {
  readonly containers: readonly [Container, ...Container[]];
  readonly volumes?: readonly Volume[];
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: unknown;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
}

export interface PolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface PolicyRule {
  readonly from?: readonly PolicyPeer[];
  readonly to?: readonly PolicyPeer[];
  readonly ports?: readonly { readonly protocol: string; readonly port: string | number }[];
}

export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector & Labels;
    readonly serviceName?: string;
    readonly ordinals?: { readonly start: number };
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly ports?: readonly {
      readonly name: string;
      readonly port: number;
      readonly targetPort: string;
    }[];
    readonly scaleTargetRef?: { readonly name: string };
    readonly podSelector?: LabelSelector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly PolicyRule[];
    readonly egress?: readonly PolicyRule[];
  };
}

export const NAME_LABEL = "app.kubernetes.io/name";

/** What makes pods. */
export interface Workload {
  readonly kind: "Deployment" | "StatefulSet" | "Job";
  readonly name: string;
  readonly replicas: number | undefined;
  readonly labels: Labels;
  readonly selector: LabelSelector | undefined;
  readonly pod: PodSpec;
  readonly container: Container;
  /** Names of volumes that each pod has its own of. */
  readonly claims: readonly string[];
  readonly serviceName: string | undefined;
  readonly firstOrdinal: number;
}

const WORKLOADS = ["Deployment", "StatefulSet", "Job"] as const;

export function workloadsOf(resources: readonly Resource[]): Workload[] {
  return resources.flatMap(({ kind, metadata, spec }) => {
    const known = WORKLOADS.find((workload) => workload === kind);
    if (known === undefined) return [];
    const { template } = spec ?? {};
    if (!template) throw new Error(`${kind} ${metadata.name} has no template.`);
    return {
      kind: known,
      name: metadata.name,
      replicas: spec?.replicas,
      labels: template.metadata.labels,
      selector: spec?.selector,
      pod: template.spec,
      container: template.spec.containers[0],
      claims: (spec?.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name),
      serviceName: spec?.serviceName,
      firstOrdinal: spec?.ordinals?.start ?? 0,
    };
  });
}

export function ofKind(resources: readonly Resource[], kind: string): Resource[] {
  return resources.filter((resource) => resource.kind === kind);
}

export function matches(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== "In") throw new Error(`The tests do not know the operator ${operator}.`);
      return values.includes(labels[key] ?? "");
    })
  );
}
