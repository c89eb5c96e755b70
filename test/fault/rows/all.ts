import { abandoned, abandonedNodeKilled } from "./abandoned.ts";
import { ackLost } from "./ack-lost.ts";
import { brokerSigkill } from "./broker-sigkill.ts";
import { brokerSigstop } from "./broker-sigstop.ts";
import { cancelRaces } from "./cancel-races.ts";
import { clusterLeaderRestart, clusterLeaderSigkill, clusterLeaderSigstop } from "./cluster-leader.ts";
import { cursorFuzz } from "./cursor-fuzz.ts";
import { deliveryCutOff } from "./delivery-cut-off.ts";
import { deliveryRollingRestart } from "./delivery-rolling-restart.ts";
import { deliverySigkill } from "./delivery-sigkill.ts";
import { foreignTenant } from "./foreign-tenant.ts";
import { moderationSigkill } from "./moderation-sigkill.ts";
import { attemptsUsedUp, noWorker, workersGone } from "./no-worker.ts";
import { pace } from "./pace.ts";
import { readerCut } from "./reader-cut.ts";
import { readerStalled } from "./reader-stalled.ts";
import { reconnectStorm } from "./reconnect-storm.ts";
import { retentionExpired } from "./retention-expired.ts";
import type { FaultRow } from "./row.ts";
import { powerLoss, storeRolledBack } from "./store-rolled-back.ts";
import { timeouts } from "./timeouts.ts";
import { toolResultRaces } from "./tool-result-races.ts";
import { workerSigkill, workerSigkillDefault } from "./worker-sigkill.ts";
import { workerSigstop } from "./worker-sigstop.ts";
import { workerSigterm } from "./worker-sigterm.ts";

/** Every row, in the order of the table. Those that ask for the same world stand together, so that they share it. */
export const ROWS: readonly FaultRow[] = [
  workerSigkill,
  workerSigstop,
  workerSigterm,
  deliverySigkill,
  deliveryRollingRestart,
  brokerSigkill,
  brokerSigstop,
  ackLost,
  deliveryCutOff,
  cursorFuzz,
  toolResultRaces,
  foreignTenant,
  abandoned,
  abandonedNodeKilled,
  noWorker,
  attemptsUsedUp,
  workersGone,
  storeRolledBack,
  powerLoss,
  workerSigkillDefault,
  moderationSigkill,
  readerCut,
  readerStalled,
  reconnectStorm,
  cancelRaces,
  timeouts,
  pace,
  retentionExpired,
  clusterLeaderSigkill,
  clusterLeaderSigstop,
  clusterLeaderRestart,
];
