import { BASE64, DIGITS, type Draw, HEX, LOWER, UPPER } from "../draw.ts";
import { type InnocentSort, padded } from "./innocent.ts";

const LEVELS = ["INFO", "WARN", "DEBUG", "ERROR"];
const PACKAGES = [
  "lodash",
  "react",
  "fastify",
  "@angular/core",
  "@nats-io/jetstream",
  "typescript",
  "left-pad",
];
const PUBLIC = ["PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK", "PGP SIGNATURE", "CERTIFICATE REQUEST"];

const version = (draw: Draw): string => `${draw.number(0, 30)}.${draw.number(0, 99)}.${draw.number(0, 99)}`;
const address = (draw: Draw): string => draw.many(4, () => String(draw.number(0, 255))).join(".");
const hex = (draw: Draw, length: number): string => draw.text(HEX, length);
const uuid = (draw: Draw): string => [8, 4, 4, 4, 12].map((size) => hex(draw, size)).join("-");

export const MACHINE_TEXTS: readonly InnocentSort[] = [
  {
    name: "UUIDs",
    make: (draw) =>
      `${draw.one(["id", "trace", "request_id ="])} ${draw.many(draw.number(1, 4), () => uuid(draw)).join("\n")}`,
  },
  {
    name: "hashes",
    make: (draw) =>
      draw.one([
        `commit ${hex(draw, 40)}`,
        `${hex(draw, 64)}  dist.tar.gz`,
        `sha256:${hex(draw, 64)}`,
        `"integrity": "sha512-${draw.text(BASE64, 86)}=="`,
        `ETag: "${hex(draw, 32)}"`,
        `index ${hex(draw, 7)}..${hex(draw, 7)} 100644`,
        `md5(${draw.text(LOWER, 5)}) = ${hex(draw, 32)}`,
      ]),
  },
  {
    name: "versions",
    make: (draw) =>
      draw.one([
        `${draw.one(PACKAGES)}@${version(draw)}`,
        `v${version(draw)}-rc.${draw.number(1, 9)}+${hex(draw, 7)}`,
        `Chrome/${draw.number(90, 140)}.0.${draw.number(1_000, 7_999)}.${draw.number(10, 199)} Safari/537.36`,
        `requires node >=${version(draw)} <${version(draw)}`,
        `1.3.6.1.4.1.${draw.number(1_000, 60_000)}.${draw.number(1, 9)}.${draw.number(1, 99)}`,
        `kernel ${version(draw)}-${draw.number(10, 99)}-generic, firmware ${draw.number(100, 999)}.${draw.number(100, 999)}.${draw.number(1_000, 9_999)}`,
      ]),
  },
  {
    name: "addresses of machines",
    make: (draw) =>
      draw.one([
        `http://${address(draw)}:${draw.number(1_024, 65_535)}/healthz`,
        `${address(draw)}/${draw.number(8, 30)} via ${address(draw)} dev eth0`,
        `fe80::${hex(draw, 4)}:${hex(draw, 4)}:${hex(draw, 4)}:${hex(draw, 4)}%eth0`,
        `ssh deploy@${address(draw)} -p ${draw.number(1_024, 9_999)}`,
        "git clone git@github.com:nats-io/nats.js.git && git push origin HEAD",
        `nats://localhost:${draw.number(4_000, 5_000)}, redis://cache:6379/0`,
      ]),
  },
  {
    name: "lines of logs",
    make: (draw) => {
      const time = `2026-${padded(draw.number(1, 12), 2)}-${padded(draw.number(1, 28), 2)}T${padded(draw.number(0, 23), 2)}:${padded(draw.number(0, 59), 2)}:07.${draw.text(DIGITS, 3)}Z`;
      return draw
        .many(draw.number(1, 4), () =>
          draw.one([
            `${time} ${draw.one(LEVELS)} [${draw.text(LOWER, 6)}-${draw.number(1, 9)}] handled ${draw.number(1, 9_999)} requests in ${draw.number(1, 99_999)} ms, ${draw.text(DIGITS, 10)} bytes`,
            `${address(draw)} - - [${time}] "GET /v1/items/${draw.text(DIGITS, draw.number(4, 14))} HTTP/1.1" 200 ${draw.number(10, 99_999)} "-" "curl/8.${draw.number(1, 12)}.0"`,
            `{"level":"info","time":${draw.number(1_700_000_000_000, 1_799_999_999_999)},"pid":${draw.number(100, 99_999)},"trace_id":"${hex(draw, 32)}","span_id":"${hex(draw, 16)}"}`,
            `kernel: [${padded(draw.number(1, 99_999), 5)}.${draw.text(DIGITS, 6)}] usb 1-${draw.number(1, 9)}: new device number ${draw.number(1, 40)}`,
            `I${draw.text(DIGITS, 4)} ${time.slice(11, 23)}${draw.text(DIGITS, 3)} ${draw.number(1_000, 99_999)} main.go:${draw.number(10, 900)}] ok`,
          ]),
        )
        .join("\n");
    },
  },
  {
    name: "dumps of bytes",
    make: (draw) =>
      draw
        .many(draw.number(1, 4), (line = draw.number(0, 4_095)) => {
          const bytes = draw.many(16, () => hex(draw, 2));
          return draw.one([
            `${padded(line * 16, 8)}  ${bytes.slice(0, 8).join(" ")}  ${bytes.slice(8).join(" ")}  |................|`,
            `0x${hex(draw, 4)}: ${bytes.join(" ")}`,
            bytes.map((byte) => `0x${byte}`).join(", "),
            draw.many(16, () => padded(draw.number(0, 99), 2)).join(" "),
          ]);
        })
        .join("\n"),
  },
  {
    name: "encoded data",
    make: (draw) =>
      draw.one([
        `data:image/png;base64,${draw.text(BASE64, draw.number(60, 300))}==`,
        `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${draw.text(BASE64, 48)} build`,
        `Content-Transfer-Encoding: base64\n\n${draw.many(3, () => draw.text(BASE64, 76)).join("\n")}`,
        `cursor=${draw.text(BASE64, 40).replaceAll(/[+/]/g, "_")}`,
        `%E2%9C%93%20${draw.many(8, () => `%${draw.text("0123456789ABCDEF", 2)}`).join("")}`,
      ]),
  },
  {
    name: "public keys and certificates",
    make: (draw) => {
      const label = draw.one(PUBLIC);
      return `-----BEGIN ${label}-----\n${draw.many(draw.number(3, 12), () => draw.text(BASE64, 64)).join("\n")}\n${draw.text(BASE64, 22)}==\n-----END ${label}-----`;
    },
  },
  {
    name: "places of keys",
    make: (draw) =>
      draw.one([
        `export OPENAI_API_KEY=${["s", "k-"].join("")}${draw.one(["your-key-goes-here", "…", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"])}`,
        `GITHUB_TOKEN=${["gh", "p_"].join("")}${draw.one(["x", "X", "0", "a"]).repeat(36)}`,
        `Authorization: Bearer ${draw.one(["<token>", "$TOKEN", "YOUR_ACCESS_TOKEN", "{{token}}", "your-access-token-goes-here"])}`,
        `aws_access_key_id = ${draw.one(["<key>", "YOUR_KEY_ID", `${["AK", "IA"].join("")}XXXXXXXXXXXXXXXX`])}`,
        `//npm/:_authToken=${["np", "m_"].join("")}${draw.one(["${NPM_TOKEN}", "x".repeat(36)])}`,
        `${["sk", "_live_"].join("")}${draw.one(["...", "x".repeat(24), "<secret>"])}`,
        "the keys begin with sk-, ghp_, AKIA, xoxb- or glpat-, and a JWT with eyJ",
        `${["AI", "za"].join("")}${draw.one(["...", "x".repeat(35)])}`,
      ]),
  },
  {
    name: "styles and names in pages",
    make: (draw) =>
      draw.one([
        `.sk-fading-circle-${draw.number(1, 12)} { color: #${hex(draw, 6)}; margin: ${draw.number(0, 99)}px ${draw.number(0, 99)}px }`,
        `<div class="task-list-item-container-${draw.text(LOWER, 6)}" data-id="${draw.text(DIGITS, 8)}">`,
        `@media (min-width: ${draw.number(300, 1_900)}px) { .sk-circle-wrapper-inner-block { top: -${draw.number(1, 9)}px } }`,
        `<path d="M${draw.number(1, 99)} ${draw.number(1, 99)}L${draw.number(1, 99)}.${draw.text(DIGITS, 4)} ${draw.number(1, 99)}.${draw.text(DIGITS, 4)} ${draw.number(100, 999)} ${draw.number(1_000, 9_999)}z"/>`,
        `background: url(sprite@2x.png) -${draw.number(10, 900)}px -${draw.number(10, 900)}px`,
        `rgba(${draw.number(0, 255)}, ${draw.number(0, 255)}, ${draw.number(0, 255)}, 0.${draw.number(1, 9)}) cubic-bezier(0.25, 0.46, 0.45, 0.94)`,
      ]),
  },
  {
    name: "code",
    make: (draw) =>
      draw.one([
        `for (let i = 0; i < ${draw.number(1, 9_999_999)}; i += ${draw.number(1, 999)}) sum += table[i + ${draw.number(1, 4_096)}] * 0x${hex(draw, 8)};`,
        `INSERT INTO ${draw.text(LOWER, 6)} (id, code, n) VALUES (${draw.text(DIGITS, 5)}, '${draw.text(UPPER, 2)}${draw.text(DIGITS, 4)}', ${draw.number(1, 99_999_999)});`,
        `const MAX_${draw.text(UPPER, 5)} = ${draw.number(1, 999)}_${draw.text(DIGITS, 3)}_${draw.text(DIGITS, 3)}; // was ${draw.number(1, 99_999_999)}`,
        `def ${draw.text(LOWER, 6)}_${draw.text(LOWER, 4)}(x, y=${draw.number(1, 99)}.${draw.text(DIGITS, 8)}):\n    return x @ y.T + ${draw.number(1, 999)}e-${draw.number(1, 9)}`,
        `#define ${draw.text(UPPER, 4)}_${draw.text(UPPER, 6)} 0x${hex(draw, 16)}ULL /* ${draw.number(1, 999)} << ${draw.number(1, 31)} */`,
        `assert_eq!(hash(b"${draw.text(LOWER, 8)}"), ${draw.text(DIGITS, 19)}u64);`,
        `@Override public int hashCode() { return 31 * ${draw.number(100, 999)} + Objects.hash(a1b2, c3d4); } // ${draw.text(LOWER, 5)}@Nullable.type`,
        `git log --since=${draw.number(2_000, 2_026)}-01-01 | awk '{print $1, $${draw.number(2, 9)}}' | sort -k${draw.number(1, 9)},${draw.number(1, 9)}n`,
        `kubectl get pods web-${draw.text(HEX, 10)}-${draw.text(LOWER, 5)} -o json | jq '.items[${draw.number(0, 9)}]'`,
        `int a[] = {${draw.many(draw.number(8, 16), () => String(draw.number(0, 255))).join(", ")}};`,
      ]),
  },
  {
    name: "settings",
    make: (draw) =>
      draw.one([
        `{"port": ${draw.number(1_024, 65_535)}, "max_bytes": ${draw.number(1, 9_999_999_999)}, "timeout_ms": ${draw.number(1, 99_999)}, "id": "${hex(draw, 24)}"}`,
        `replicas: ${draw.number(1, 9)}\nimage: web:${version(draw)}@sha256:${hex(draw, 64)}\nresources:\n  cpu: ${draw.number(100, 900)}m`,
        `[${draw.text(LOWER, 6)}]\nuid = ${draw.number(1_000, 65_000)}\ngid = ${draw.number(1_000, 65_000)}\nmask = 0${draw.number(100, 777)}`,
        `*/${draw.number(5, 30)} ${draw.number(0, 23)} ${draw.number(1, 28)} * ${draw.number(0, 6)} /usr/bin/${draw.text(LOWER, 6)} --jobs=${draw.number(1, 16)}`,
        `resource "disk" "${draw.text(LOWER, 5)}" { id = "vol-0${hex(draw, 16)}", size = ${draw.number(8, 4_096)} }`,
        `arn:aws:iam::${draw.text(DIGITS, 12)}:role/${draw.text(LOWER, 8)}`,
      ]),
  },
];
