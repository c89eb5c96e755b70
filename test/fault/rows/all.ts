import { abandoned, abandonedNodeKilled } from "./delivery/abandoned.ts";
import { brokerOutage, brokerOutageLong } from "./broker/broker-outage.ts";
import { ackLost, brokerSigkill, brokerSigstop } from "./broker/broker-signals.ts";
import { cancelRaces } from "./reader/cancel-races.ts";
import { clusterLeaderRestart, clusterLeaderSigkill, clusterLeaderSigstop } from "./broker/cluster-leader.ts";
import {
  conversationBrokerSigkill,
  conversationDeliverySigkill,
  conversationLeaderSigkill,
  conversationWorkerSigkill,
} from "./conversation/conversation-sigkill.ts";
import { cursorFuzz } from "./delivery/cursor-fuzz.ts";
import { deliveryCutOff, deliveryRollingRestart, deliverySigkill } from "./delivery/delivery-signals.ts";
import { foreignTenant } from "./delivery/foreign-tenant.ts";
import { moderationSigkill } from "./moderation-sigkill.ts";
import { attemptsUsedUp, noWorker, workersGone } from "./worker/no-worker.ts";
import { pace } from "./worker/pace.ts";
import { readerCut } from "./reader/reader-cut.ts";
import { readerStalled } from "./reader/reader-stalled.ts";
import { reconnectStorm } from "./reader/reconnect-storm.ts";
import { retentionExpired } from "./broker/retention-expired.ts";
import {
  inputBrokerSigkill,
  inputCut,
  inputDeliverySigkill,
  inputLeaderSigkill,
  inputWorkerSigkill,
} from "./input/upload-faults.ts";
import type { FaultRow } from "./row.ts";
import { powerLoss, storeRolledBack } from "./broker/store-rolled-back.ts";
import { timeouts } from "./worker/timeouts.ts";
import { toolResultRaces } from "./worker/tool-result-races.ts";
import {
  workerSigkill,
  workerSigkillDefault,
  workerSigstop,
  workerSigterm,
} from "./worker/worker-signals.ts";

/** Every row, in the order of the table. Those that ask for the same world are neighbours, so that they share it. */
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
  inputDeliverySigkill,
  inputWorkerSigkill,
  inputBrokerSigkill,
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
  brokerOutage,
  brokerOutageLong,
  readerCut,
  inputCut,
  readerStalled,
  reconnectStorm,
  cancelRaces,
  timeouts,
  pace,
  conversationWorkerSigkill,
  conversationDeliverySigkill,
  conversationBrokerSigkill,
  retentionExpired,
  clusterLeaderSigkill,
  clusterLeaderSigstop,
  clusterLeaderRestart,
  inputLeaderSigkill,
  conversationLeaderSigkill,
];
