import type { FaultRow } from "./row.ts";
import { workerSigkill, workerSigkillDefault } from "./worker-sigkill.ts";
import { workerSigstop } from "./worker-sigstop.ts";
import { workerSigterm } from "./worker-sigterm.ts";

/** Every row, in the order of the table. */
export const ROWS: readonly FaultRow[] = [workerSigkill, workerSigkillDefault, workerSigstop, workerSigterm];
