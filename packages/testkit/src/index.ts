export { type AckedMessage, type AckLedger, createAckLedger } from "./ack-ledger.ts";
export { type ClearedWatch, type EarlyEvent, watchCleared } from "./cleared-watch.ts";
export {
  cancelled,
  completed,
  createRef,
  delta,
  halted,
  MODERATION,
  moderatedPolicy,
  redacted,
  requested,
  started,
} from "./drafts.ts";
export { findFreePort } from "./free-port.ts";
export { createLaggingConnection } from "./lagging-connection.ts";
export {
  createLedger,
  type Discrepancy,
  type Ledger,
  type LedgerEntry,
  NOTHING_WRONG,
  type Verdict,
} from "./ledger.ts";
export { startRedis, type TestRedis } from "./redis.ts";
export { createSeededRandom, type SeededRandom, withSeed } from "./seeded-random.ts";
export { sendSignal } from "./send-signal.ts";
export { openSseReader, type SseEnd, type SseReader, type SseReaderOptions } from "./sse-reader.ts";
export type { ConnectionTap, PumpFaults } from "./tcp-pump.ts";
export {
  type ConnectionFaults,
  type ProxyConnection,
  startTcpProxy,
  type TcpProxy,
  type TcpProxyOptions,
} from "./tcp-proxy.ts";
export { createTempDir, type TempDir } from "./temp-dir.ts";
export type { LogLine } from "./log-lines.ts";
export { type ServiceExit, type ServiceProcess, startService } from "./service-process.ts";
export { createTestCertificates, type TestCertificates } from "./test-certificates.ts";
export type { StoredBroker } from "./test-broker-binary.ts";
export { startStoredBroker, startTestBroker } from "./start-test-broker.ts";
export type { TestBroker, TestBrokerOptions } from "./test-broker.ts";
export { startTestCluster, type TestCluster, type TestClusterOptions } from "./test-cluster.ts";
export type { ClusterNode } from "./test-cluster-node.ts";
export { untilAnswered } from "./until-answered.ts";
