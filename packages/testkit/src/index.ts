export { findFreePort } from "./free-port.ts";
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
export { openSseReader, type SseEnd, type SseReader, type SseReaderOptions } from "./sse-reader.ts";
export type { PumpFaults } from "./tcp-pump.ts";
export {
  type ConnectionFaults,
  type ProxyConnection,
  startTcpProxy,
  type TcpProxy,
  type TcpProxyOptions,
} from "./tcp-proxy.ts";
export { createTempDir, type TempDir } from "./temp-dir.ts";
export { startTestBroker, type TestBroker, type TestBrokerOptions } from "./test-broker.ts";
