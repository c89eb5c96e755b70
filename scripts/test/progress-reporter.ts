import { DefaultReporter, type TestModule, type TestSpecification } from "vitest/node";

const EVERY_MS = 10_000;

/** Prints how many of how many files are done, every 10 s; prints a failed file at once; and the failures once more at the end. */
export class ProgressReporter extends DefaultReporter {
  #timer: NodeJS.Timeout | undefined;
  #total = 0;
  #done = 0;
  #failed = 0;
  readonly #running = new Set<string>();

  constructor() {
    super({ isTTY: false, silent: "passed-only" });
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#total = specifications.length;
    this.#done = this.#failed = 0;
    this.#timer = setInterval(() => this.#print(), EVERY_MS);
  }

  override onTestModuleQueued(testModule: TestModule): void {
    this.#running.add(testModule.relativeModuleId);
  }

  override onTestModuleEnd(testModule: TestModule): void {
    this.#running.delete(testModule.relativeModuleId);
    this.#done++;
    if (testModule.state() !== "failed") return;
    this.#failed++;
    super.onTestModuleEnd(testModule);
  }

  override onTestRunEnd(...end: Parameters<DefaultReporter["onTestRunEnd"]>): void {
    clearInterval(this.#timer);
    this.#print();
    super.onTestRunEnd(...end);
  }

  #print(): void {
    const seconds = Math.round((performance.now() - this.start) / 1_000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const share = `${Math.round((100 * this.#done) / this.#total)} %`.padStart(5);
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : "";
    // The last ones, and one that hangs.
    const last =
      this.#running.size > 0 && this.#running.size <= 2 ? `: ${[...this.#running].join(", ")}` : "";
    this.log(`${time.padStart(6)} ${share}  ${this.#done} of ${this.#total} files${failed}${last}`);
  }
}
