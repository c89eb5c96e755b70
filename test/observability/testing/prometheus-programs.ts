import { fileURLToPath } from "node:url";
import { ensurePrometheus, type PrometheusPrograms } from "../../../scripts/programs/ensure-prometheus.ts";

const DATA_DIR = fileURLToPath(new URL("../../../.reprise", import.meta.url));

/** Prometheus and promtool, fetched where there are none. @throws Error that says what to install by hand */
export function prometheusPrograms(): Promise<PrometheusPrograms> {
  return ensurePrometheus(process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
}
