import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type FindMessage, loadEnvoyProtos } from "./testing/envoy-protos.ts";
import { findProtoErrors } from "./testing/proto-json.ts";

const FILE = readFileSync(join(import.meta.dirname, "../../infra/proxies/envoy/envoy.yaml"), "utf8");

let find: FindMessage;
beforeAll(async () => {
  find = await loadEnvoyProtos();
});

const errorsIn = (text: string) =>
  findProtoErrors(find("envoy.config.bootstrap.v3.Bootstrap"), parse(text), find);

test("infra/proxies/envoy/envoy.yaml has the fields of Envoy's own definitions, with values of their types", () => {
  expect(errorsIn(FILE)).toEqual([]);
});

const CLUSTER = ".static_resources.clusters[0]";
const FILTER = ".static_resources.listeners[0].filter_chains[0].filters[0].typed_config";

test.each([
  [
    "lb_policy: LEAST_REQUEST",
    "lb_polici: LEAST_REQUEST",
    `${CLUSTER}.lb_polici: no field of envoy.config.cluster.v3.Cluster`,
  ],
  [
    "lb_policy: LEAST_REQUEST",
    "lb_policy: STICKY",
    `${CLUSTER}.lb_policy: STICKY is none of envoy.config.cluster.v3.Cluster.LbPolicy`,
  ],
  ["connect_timeout: 2s", "connect_timeout: 2000", `${CLUSTER}.connect_timeout: no google.protobuf.Duration`],
  [
    "max_connections: 65536",
    "max_connections: many",
    `${CLUSTER}.circuit_breakers.thresholds[0].max_connections: no google.protobuf.UInt32Value`,
  ],
  ["- timeout: 1s\n          interval", "- interval", `${CLUSTER}.health_checks[0].timeout: missing`],
  [
    "port_value: 9464",
    "port_value: 94640",
    `${CLUSTER}.load_assignment.endpoints[0].lb_endpoints[0].endpoint.health_check_config.port_value: lte 65535`,
  ],
  // Within an Any, and one within that.
  [
    "stream_idle_timeout: 60s",
    "stream_idle_time: 60s",
    `${FILTER}.stream_idle_time: no field of envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
  ],
  [
    "json_format:",
    "jsonformat:",
    `${FILTER}.access_log[0].typed_config.log_format.jsonformat: no field of envoy.config.core.v3.SubstitutionFormatString`,
  ],
  [
    "v3.StdoutAccessLog",
    "v3.StdoutLog",
    `${FILTER}.access_log[0].typed_config.@type: there is no envoy.extensions.access_loggers.stream.v3.StdoutLog`,
  ],
  [
    "direct_response: { status: 204 }",
    "direct_response: { status: 204 }\n                          redirect: {}",
    `${FILTER}.route_config.virtual_hosts[0].routes[0]: redirect and direct_response are of one action`,
  ],
])("%j in place of which stands %j is found", (right, wrong, error) => {
  expect(FILE).toContain(right);
  expect(errorsIn(FILE.replace(right, wrong))).toContain(error);
});
