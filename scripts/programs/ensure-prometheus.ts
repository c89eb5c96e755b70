import { mkdir } from "node:fs/promises";
import { findProgram } from "@reprise/service";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";
import { PROMETHEUS } from "../releases/releases.ts";
import { fetchProgram } from "./fetch-program.ts";
import { installCommand } from "./install-command.ts";
import { type Machine, readMachine } from "./machine.ts";

/** Absolute paths. */
export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/**
 * Prometheus 3 and its promtool: those on PATH, or those in the data folder, after fetching them where there are none. Of several
 * processes that ask at once, one fetches.
 *
 * @throws Error that says what to install by hand
 */
export async function ensurePrometheus(dataDir: string): Promise<PrometheusPrograms> {
  const present = await findPrometheus(dataDir);
  if (!("problem" in present)) return present;
  await mkdir(dataDir, { recursive: true });
  const machine = await readMachine();
  await withSetUpLock(dataDir, async () => {
    if (!("problem" in (await findPrometheus(dataDir)))) return;
    try {
      await fetchProgram(PROMETHEUS, dataDir, machine);
    } catch (error) {
      throw new Error(byHand(present.problem, error, machine), { cause: error });
    }
  });
  const fetched = await findPrometheus(dataDir);
  if ("problem" in fetched)
    throw new Error(byHand(fetched.problem, "the fetched one is not new enough", machine));
  return fetched;
}

async function findPrometheus(dataDir: string): Promise<PrometheusPrograms | { problem: string }> {
  const [prometheus, promtool] = await Promise.all([find("prometheus", dataDir), find("promtool", dataDir)]);
  if ("problem" in prometheus) return prometheus;
  if ("problem" in promtool) return promtool;
  return { prometheus: prometheus.path, promtool: promtool.path };
}

function find(name: string, dataDir: string) {
  const versionPattern = new RegExp(`^${name}, version ([0-9]+\\.[0-9]+\\.[0-9]+)`, "m");
  return findProgram({ name, minVersion: "3.0.0", versionPattern }, { path: process.env["PATH"], dataDir });
}

function byHand(missing: string, why: unknown, machine: Machine): string {
  const command = installCommand(machine, ["prometheus"]) ?? "a release of the Prometheus project";
  return [
    `These tests need ${missing}. It can't be fetched: ${why instanceof Error ? why.message : String(why)}.`,
    `Install Prometheus 3 with promtool, so that both are on PATH. Here: ${command}`,
  ].join("\n");
}
