import type { ProtocolsResult } from "../scenarios/protocols.ts";
import { atMost, type Verdict } from "./claim.ts";
import { byRole, formatTable, ms } from "./table.ts";

const MIB = 1_024 * 1_024;
/** Of a chat's readers, in native ones. */
const MOST = 1.15;

export function formatProtocols({ shape, rows, rounds }: ProtocolsResult): string {
  const { streams, tokensPerSecond, readersPerStream } = shape;
  const cells = rows.map(({ protocol, latency, cpuPerToken, rssBytes, rssBytesBefore, clientLoad }) => {
    const own = rounds.flat().filter((row) => row.protocol === protocol);
    return [
      protocol,
      ...[latency.p50, latency.p90, latency.p99, latency.max].map(ms),
      ms(Math.max(...own.map((row) => row.latency.p99))),
      String(own.reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0)),
      byRole(cpuPerToken),
      (((rssBytes["delivery"] ?? 0) - (rssBytesBefore["delivery"] ?? 0)) / MIB).toFixed(0),
      clientLoad.toFixed(2),
    ];
  });
  const title = `PROTOCOLS: ${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers by protocol: ms from due time to reader, best of ${rounds.length}`;
  const header = [
    "",
    "p50",
    "p90",
    "p99",
    "max",
    "worst p99",
    "wrong",
    "CPU µs/token by process",
    "delivery +MB",
    "client",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

export function judgeProtocols({ scenario, rows, rounds }: ProtocolsResult): Verdict[] {
  const [native, chat] = ["native", "openai-chat"].map((name) =>
    rows.find(({ protocol }) => protocol === name),
  );
  if (!native || !chat) return [];
  const all = (cpu: Readonly<Record<string, number>>) =>
    Object.values(cpu).reduce((sum, one) => sum + one, 0);
  const wrong = rounds
    .flat()
    .reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0);
  return [
    atMost(scenario, "chat chunks: p50, of native", chat.latency.p50 / native.latency.p50, MOST, "x"),
    atMost(
      scenario,
      "chat chunks: CPU, of native",
      all(chat.cpuPerToken) / all(native.cpuPerToken),
      MOST,
      "x",
    ),
    atMost(scenario, "tokens lost or repeated", wrong, 0, ""),
  ];
}
