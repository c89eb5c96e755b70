export { type AckedMessage, type AckLedger, createAckLedger } from "./judge/ack-ledger.ts";
export { type ClearedWatch, type EarlyEvent, watchCleared } from "./judge/cleared-watch.ts";
export {
  cancelled,
  completed,
  createRef,
  delta,
  halted,
  MODERATION,
  moderatedPolicy,
  redacted,
  SAID_BESIDE,
  requested,
  started,
} from "./judge/drafts.ts";
export { eventually, PATIENCE_MS, untilAnswered } from "./eventually.ts";
export { findFreePort, startOnFreePorts } from "./network/free-port.ts";
export { createLaggingConnection } from "./broker/lagging-connection.ts";
export {
  createLedger,
  type Discrepancy,
  type Ledger,
  type LedgerEntry,
  NOTHING_WRONG,
  type Verdict,
} from "./judge/ledger.ts";
export { startRedis, type TestRedis } from "./process/redis.ts";
export { createSeededRandom, type SeededRandom, withSeed } from "./judge/seeded-random.ts";
export { bundleProgram } from "./process/bundle-program.ts";
export { readCommandLine, readResidentBytes } from "./process/inspect-process.ts";
export { sendSignal } from "./process/send-signal.ts";
export { openSseReader, type SseEnd, type SseReader, type SseReaderOptions } from "./network/sse-reader.ts";
export type { ConnectionTap, PumpFaults } from "./network/tcp-pump.ts";
export {
  type ConnectionFaults,
  type ProxyConnection,
  startTcpProxy,
  type TcpProxy,
  type TcpProxyOptions,
} from "./network/tcp-proxy.ts";
export { createTempDir, type TempDir } from "./process/temp-dir.ts";
export type { LogLine } from "./process/log-lines.ts";
export { type ServiceExit, type ServiceProcess, startService } from "./process/service-process.ts";
export { createTestCertificates, type TestCertificates } from "./broker/test-certificates.ts";
export type { StoredBroker } from "./broker/test-broker-binary.ts";
export { startStoredBroker, startTestBroker } from "./broker/start-test-broker.ts";
export type { TestBroker, TestBrokerOptions } from "./broker/test-broker.ts";
export { startTestCluster, type TestCluster, type TestClusterOptions } from "./broker/test-cluster.ts";
export type { ClusterNode } from "./broker/test-cluster-node.ts";
export { startWitnessProcess, type WitnessProcess } from "./process/witness-process.ts";
export {
  type OtlpAnswer,
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "./network/otlp-receiver.ts";
export { type MemoryWatch, watchMemory } from "./process/watch-memory.ts";
export { base64HashOf, type MediaModel, startMediaModel } from "./network/media-model.ts";
export { type PiecesUpload, uploadPieces } from "./network/upload-pieces.ts";
