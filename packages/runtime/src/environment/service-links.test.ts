import { expect, test } from "vitest";
import { parseEnvironment } from "./environment.ts";
import { serviceLinksIn } from "./service-links.ts";

/** Variables as Kubernetes makes them for the services `reprise`, `reprise-delivery` and `reprise-ops`, the last with IPv6. */
const LINKS = {
  REPRISE_SERVICE_HOST: "10.0.0.1",
  REPRISE_SERVICE_PORT: "80",
  REPRISE_SERVICE_PORT_HTTP: "80",
  REPRISE_PORT: "tcp://10.0.0.1:80",
  REPRISE_PORT_80_TCP: "tcp://10.0.0.1:80",
  REPRISE_PORT_80_TCP_PROTO: "tcp",
  REPRISE_PORT_80_TCP_PORT: "80",
  REPRISE_PORT_80_TCP_ADDR: "10.0.0.1",
  REPRISE_DELIVERY_SERVICE_HOST: "10.0.0.2",
  REPRISE_DELIVERY_SERVICE_PORT_HTTP_METRICS: "9090",
  REPRISE_DELIVERY_PORT: "udp://10.0.0.2:53",
  REPRISE_OPS_PORT: "tcp://[fd00::1]:9090",
  REPRISE_OPS_PORT_9090_TCP_ADDR: "fd00::1",
};

test("what Kubernetes makes for a service of this name stops no start, and takes no variable's place", () => {
  expect(parseEnvironment(LINKS, ["REPRISE_PORT", "REPRISE_OPS_PORT"])).toEqual({
    REPRISE_PORT: 8_080,
    REPRISE_OPS_PORT: undefined,
  });
  expect(serviceLinksIn(LINKS)).toEqual(Object.keys(LINKS));
});

test.each([
  ["REPRISE_SERVICE_HOST", "delivery.internal"],
  ["REPRISE_SERVICE_PORT", "many"],
  ["REPRISE_DELIVERY_PORT", "8080"],
  ["REPRISE_PORTS", "tcp://10.0.0.1:80"],
  ["REPRISE_PORT_80_TCP_PROTO", "http"],
  ["REPRISE_NATS_HOST", "10.0.0.1"],
])("%s=%s is none of them, and refused like every name that is not known", (name, value) => {
  expect(serviceLinksIn({ [name]: value })).toEqual([]);
  expect(() => parseEnvironment({ [name]: value }, [])).toThrow(`${name} is not known`);
});

test("a port that is set is taken", () => {
  expect(serviceLinksIn({ REPRISE_PORT: "8081", OTHER_PORT: "tcp://10.0.0.1:80" })).toEqual([]);
  expect(parseEnvironment({ REPRISE_PORT: "8081" }, ["REPRISE_PORT"])).toEqual({ REPRISE_PORT: 8_081 });
});
