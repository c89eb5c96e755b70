import { describe, expect, test } from "vitest";
import { NATS_SERVER } from "../../scripts/releases/releases.ts";
import { readComposeFile } from "../containers/testing/compose-file.ts";
import { configMapsOf, environmentOf } from "./testing/environment.ts";
import { buildOverlay, BUILDS } from "./testing/overlay.ts";
import { matches, NAME_LABEL, ofKind, type Probe, workloadsOf } from "./testing/resources.ts";

const SERVICES = ["analytics", "audit-log", "delivery", "inference-worker", "moderation", "witness"];
const compose = readComposeFile().services;
/** By the name of the workload. */
const COMPOSE_IMAGES: Readonly<Record<string, string | undefined>> = {
  nats: compose["nats-1"]?.image,
  redis: compose["redis"]?.image,
};
/** What a process may take behind its drain until its last connection is closed and Node has ended. */
const MARGIN_S = 10;

const RESTRICTED_POD = {
  runAsNonRoot: true,
  runAsUser: 1_000,
  runAsGroup: 1_000,
  fsGroup: 1_000,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};
const RESTRICTED_CONTAINER = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

describe.each(BUILDS)("the overlay %s", (name) => {
  test("has each service, its broker, Redis and the job that makes the streams", async () => {
    const names = workloadsOf(await buildOverlay(name)).map((workload) => workload.name);
    expect(names.toSorted()).toEqual([...SERVICES, "nats", "nats-set-up", "redis"].toSorted());
  });

  test("puts everything into one namespace, what components add too", async () => {
    const namespaced = (await buildOverlay(name)).filter(({ kind }) => kind !== "Namespace");
    const elsewhere = namespaced.filter(({ metadata }) => metadata.namespace !== "reprise");
    expect(elsewhere.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  });

  test("selects in each workload the pods that it makes, and no other workload's", async () => {
    const workloads = workloadsOf(await buildOverlay(name));
    for (const { kind, name: own, labels, selector } of workloads) {
      expect(labels).toEqual({ [NAME_LABEL]: own, "app.kubernetes.io/part-of": "reprise" });
      if (kind !== "Job")
        expect({ own, selector }).toEqual({ own, selector: { matchLabels: { [NAME_LABEL]: own } } });
    }
  });

  test("has Services, budgets and scalers that lead to a workload and to ports of its containers", async () => {
    const resources = await buildOverlay(name);
    const workloads = workloadsOf(resources);
    for (const { metadata, spec } of ofKind(resources, "Service")) {
      const selected = workloads.filter(({ labels }) =>
        matches({ matchLabels: spec?.selector ?? {} }, labels),
      );
      expect(selected.map((workload) => workload.name)).toEqual([metadata.name]);
      const ports = selected[0]?.container.ports?.map((port) => port.name);
      for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort);
      expect(spec?.ports?.map((port) => port.targetPort) ?? []).not.toContain("ops");
    }
    for (const { metadata, spec } of ofKind(resources, "PodDisruptionBudget")) {
      const selected = workloads.filter(({ labels }) => matches(spec?.selector ?? {}, labels));
      expect(selected.map((workload) => workload.name)).toEqual([metadata.name]);
    }
    for (const { spec } of ofKind(resources, "ScaledObject")) {
      const scaled = workloads.find((workload) => workload.name === spec?.scaleTargetRef?.name);
      expect(scaled).toMatchObject({ kind: "Deployment", replicas: undefined });
    }
    const services = ofKind(resources, "Service").map(({ metadata }) => metadata.name);
    for (const { serviceName } of workloads) if (serviceName) expect(services).toContain(serviceName);
  });

  test("gives each container nothing that it does not need, and a token of Kubernetes to none", async () => {
    for (const { name: own, pod, container } of workloadsOf(await buildOverlay(name))) {
      expect(pod.containers).toHaveLength(1);
      expect({ own, pod: pod.securityContext, container: container.securityContext }).toEqual({
        own,
        pod: RESTRICTED_POD,
        container: RESTRICTED_CONTAINER,
      });
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
      expect(container.resources).toEqual({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    }
  });

  test("asks each container by ports that it has: services for /healthz and /readyz at the port for them", async () => {
    for (const { kind, name: own, container } of workloadsOf(await buildOverlay(name))) {
      const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe];
      if (kind === "Job") {
        expect(probes).toEqual([undefined, undefined, undefined]);
        continue;
      }
      const ports = container.ports?.map((port) => port.name);
      for (const probe of probes) expect(ports).toContain(probe?.httpGet?.port ?? probe?.tcpSocket?.port);
      if (SERVICES.includes(own))
        expect(probes.map(where)).toEqual(["ops/healthz", "ops/readyz", "ops/healthz"]);
    }
  });

  test("grants each service longer than the process may take to stop", async () => {
    const resources = await buildOverlay(name);
    const secrets = new Proxy({}, { get: () => new Proxy({}, { get: () => "x" }), has: () => true });
    const configMaps = { ...configMapsOf(resources), "witness-logs": { vkeys: "x" } };
    for (const workload of workloadsOf(resources).filter(({ name: own }) => SERVICES.includes(own))) {
      const env = environmentOf(workload, { configMaps, secrets });
      const noticeMs = workload.name === "delivery" ? Number(env["REPRISE_DRAIN_NOTICE_MS"]) : 0;
      const neededS = (noticeMs + Number(env["REPRISE_DRAIN_MS"])) / 1_000 + MARGIN_S;
      expect(workload.pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(neededS);
      expect(workload.container.lifecycle).toBeUndefined();
    }
  });

  test("mounts volumes that there are, and writes to no other than its own", async () => {
    for (const { name: own, pod, container, claims } of workloadsOf(await buildOverlay(name))) {
      const volumes = [...(pod.volumes ?? []).map((volume) => volume.name), ...claims];
      const mounts = container.volumeMounts ?? [];
      expect(mounts.map((mount) => mount.name).toSorted()).toEqual(volumes.toSorted());
      const writable = mounts.filter(({ readOnly }) => readOnly !== true).map((mount) => mount.name);
      const expected = [
        ...claims,
        ...(pod.volumes ?? []).filter(({ emptyDir }) => emptyDir).map((volume) => volume.name),
      ];
      expect({ own, writable: writable.toSorted() }).toEqual({ own, writable: expected.toSorted() });
    }
  });

  test("names our images by a tag that the overlay sets, and NATS and Redis as docker-compose.yml does", async () => {
    for (const { name: own, container } of workloadsOf(await buildOverlay(name))) {
      const image = COMPOSE_IMAGES[own];
      const expected =
        image ?? expect.stringMatching(new RegExp(`^reprise/${own.replace(/^nats-/, "")}:[\\w.-]+$`));
      expect([own, container.image]).toEqual([own, expected]);
    }
  });
});

test("the image of NATS has the version that npm start fetches", () => {
  expect(COMPOSE_IMAGES["nats"]).toContain(`nats:${NATS_SERVER.version}-alpine@sha256:`);
});

function where(probe: Probe | undefined): string {
  return `${probe?.httpGet?.port}${probe?.httpGet?.path}`;
}
