const MICROS = 1_000;

/** How many cores this process has used since it was asked last. */
export class CpuMeter {
  #usage = process.cpuUsage();
  #atMs = performance.now();
  #cores = 0;

  /** Asked twice within a millisecond, it answers the same. */
  read(): number {
    const elapsedMs = performance.now() - this.#atMs;
    if (elapsedMs < 1) return this.#cores;
    const { user, system } = process.cpuUsage(this.#usage);
    this.#usage = process.cpuUsage();
    this.#atMs += elapsedMs;
    this.#cores = (user + system) / MICROS / elapsedMs;
    return this.#cores;
  }
}
