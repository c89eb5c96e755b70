import type { Break, ProxyFiles, ProxyKind } from "./proxy-kind.ts";

const CERTIFICATE = "/etc/reprise/tls/proxy.crt";
const BROKEN: Break = ["broken", false];
const KEY = "/etc/reprise/tls/proxy.key";

export const NGINX: ProxyKind = {
  name: "nginx",
  files: ["nginx.conf", "upstream.conf", "delivery.conf", "servers/http.conf", "servers/https.conf"],
  replaced: ({ dir, httpPort, tlsPort, cert, key }) => [
    ["/tmp/", `${dir}/`],
    ["listen 8080", `listen ${httpPort}`],
    ["listen 8443", `listen ${tlsPort}`],
    [CERTIFICATE, cert],
    [KEY, key],
  ],
  // nginx opens /dev/stdout, which can't be done where that is a socket, as Node's pipes are.
  check: ({ dir }) => ["sh", "-c", `nginx -t -c '${dir}/nginx.conf' >'${dir}/check.log'`],
  run: ({ dir }) => ["nginx", "-c", `${dir}/nginx.conf`, "-g", "daemon off;"],
  reload: ({ dir }) => ["nginx", "-c", `${dir}/nginx.conf`, "-s", "reload"],
  pidFile: ({ dir }) => `${dir}/nginx.pid`,
  idleTimeout: "proxy_read_timeout 60s",
  grace: "worker_shutdown_timeout 30s",
  breaks: [BROKEN],
  mostTriesAtNodesBack: 3,
};

const caddyConfig = ({ dir }: ProxyFiles) => ["--adapter", "caddyfile", "--config", `${dir}/Caddyfile`];

export const CADDY: ProxyKind = {
  name: "caddy",
  files: ["Caddyfile"],
  replaced: ({ httpPort, tlsPort, adminPort, opsPort, cert, key }) => [
    ["admin 127.0.0.1:2019", `admin 127.0.0.1:${adminPort}`],
    ["health_port 9464", `health_port ${opsPort}`],
    ["http://:8080", `http://:${httpPort}`],
    [":8443 {", `:${tlsPort} {`],
    [CERTIFICATE, cert],
    [KEY, key],
  ],
  check: (files) => ["caddy", "validate", ...caddyConfig(files)],
  run: (files) => ["caddy", "run", ...caddyConfig(files)],
  // Without --force a configuration that has not changed is not loaded.
  reload: (files) => [
    "caddy",
    "reload",
    "--force",
    ...caddyConfig(files),
    "--address",
    `127.0.0.1:${files.adminPort}`,
  ],
  idleTimeout: "read_timeout 60s",
  grace: "grace_period 30s",
  // Caddy 2.6 ends the response as if it were whole (caddyserver/caddy issue 5951); PROTOCOL.md §8.1.5 has clients resume there too.
  breaks: [BROKEN, ["clean", true]],
  mostTriesAtNodesBack: Infinity,
};

export const HAPROXY: ProxyKind = {
  name: "haproxy",
  files: ["haproxy.cfg"],
  replaced: ({ httpPort, tlsPort, opsPort, cert }) => [
    ["check port 9464", `check port ${opsPort}`],
    ["bind :8080", `bind :${httpPort}`],
    ["bind :8443", `bind :${tlsPort}`],
    [CERTIFICATE, cert],
  ],
  check: ({ dir }) => ["haproxy", "-c", "-f", `${dir}/haproxy.cfg`],
  run: ({ dir }) => ["haproxy", "-W", "-p", `${dir}/haproxy.pid`, "-f", `${dir}/haproxy.cfg`],
  reload: ({ dir }) => ["sh", "-c", `kill -USR2 "$(cat '${dir}/haproxy.pid')"`],
  pidFile: ({ dir }) => `${dir}/haproxy.pid`,
  idleTimeout: "timeout server 60s",
  grace: "hard-stop-after 30s",
  // HAProxy 2.6 breaks a connection of HTTP/1.1, and ends a stream of HTTP/2 as if it were whole.
  breaks: [BROKEN, ["broken", true]],
  mostTriesAtNodesBack: Infinity,
};
