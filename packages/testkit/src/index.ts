export { findFreePort } from "./free-port.ts";
export { createTempDir, type TempDir } from "./temp-dir.ts";
export { startTestBroker, type TestBroker, type TestBrokerOptions } from "./test-broker.ts";
