import { WorkShares } from "@reprise/async";
import type { Broker } from "@reprise/broker";
import {
  createRuleSetCache,
  prepareFolding,
  readRuleSet,
  type RuleFinding,
  type RuleSet,
} from "@reprise/moderation";
import {
  type EffectiveModeration,
  type EventDraft,
  type InputRecord,
  RepriseError,
  type Seq,
  type TenantId,
} from "@reprise/protocol";
import { ClearText } from "../../domain/clear-text.ts";
import { MessageScanner } from "../../domain/message-scanner.ts";

/** Judging takes a fifth of a core for each tenant at most, and a millisecond at once: a step takes some 15 ns. */
const SHARES = { stepsPerSecond: 15_000_000, burst: 750_000, slice: 75_000 };
/** Costs beside the rules'. */
const STEPS_PER_PIECE = 100;

/** Judges the input of a worker's runs. */
export interface InputJudge {
  readonly shares: WorkShares;
  readonly readRules: (tenant: TenantId, id: string) => Promise<RuleSet | undefined>;
}

export function createInputJudge(connection: Broker["main"]): InputJudge {
  prepareFolding();
  const shares = new WorkShares(SHARES);
  const read = (tenant: TenantId, id: string) => readRuleSet(connection, tenant, id);
  return { shares, readRules: createRuleSetCache({ read, shares }) };
}

export interface InputGateOptions {
  readonly judge: InputJudge;
  readonly tenant: TenantId;
  readonly moderation: EffectiveModeration;
}

/**
 * Holds streamed text back from the model until the rules have cleared it: a record is passed on whole, without what the rules redact. Text that could still
 * match waits for more, at most until the message ends. What is passed on depends on the input log alone, so another worker passes on the same.
 */
export class InputGate {
  readonly #options: InputGateOptions;
  #rules: RuleSet | undefined;
  #halt: RuleFinding | undefined;

  constructor(options: InputGateOptions) {
    this.#options = options;
  }

  /** The match that stops the generation. */
  get halt(): RuleFinding | undefined {
    return this.#halt;
  }

  /**
   * Reads the rules: to be called before records are passed.
   * @throws RepriseError `broker_unavailable`; `moderation_unavailable` if they are not kept
   */
  async prepare(): Promise<void> {
    const { judge, tenant, moderation } = this.#options;
    this.#rules ??= await judge.readRules(tenant, moderation.rule_set);
    if (!this.#rules)
      throw new RepriseError("moderation_unavailable", "The rules for the input are not kept any more.");
  }

  /**
   * Passes records on after an entry.
   * @param records from the first one on
   * @param after the last entry that is already consumed
   * @throws RepriseError `moderation_unavailable` at a match that stops the generation: `halt` has it
   */
  async *pass(records: AsyncIterable<InputRecord>, after: Seq): AsyncGenerator<InputRecord> {
    const { judge, tenant, moderation } = this.#options;
    const rules = this.#rules;
    if (!rules) throw new RepriseError("internal", "The rules for the input were not read.");
    const scanner = new MessageScanner(() => rules.createScanner());
    const clear = new ClearText<{ record: InputRecord; text: string }>(scanner, moderation.replacement);
    for await (const record of records) {
      const { entry } = record;
      const text = entry.type === "input.delta" ? entry.text : undefined;
      const found = await judge.shares.run(tenant, scanning(rules, scanner, text));
      const cleared = text === undefined ? clear.settle(found) : clear.push({ record, text }, found);
      this.#halt = clear.halt;
      if (this.#halt) throw new RepriseError("moderation_unavailable", "A rule stops the input.");
      for (const { record: one, text: shown } of cleared)
        if (one.seq > after) yield { ...one, entry: { type: "input.delta", text: shown } };
      if (text === undefined && record.seq > after) yield record;
    }
  }
}

/** Scans a text, or settles what has come before: yields the steps of each piece. */
function* scanning(
  rules: RuleSet,
  scanner: MessageScanner,
  text: string | undefined,
): Generator<number, readonly RuleFinding[]> {
  let { steps } = rules;
  const found = text === undefined ? [...scanner.settle()] : [];
  for (let at = 0; text !== undefined && at < text.length; at += rules.pieceLength) {
    found.push(...scanner.push(text.slice(at, at + rules.pieceLength)));
    yield STEPS_PER_PIECE + rules.steps - steps;
    ({ steps } = rules);
  }
  yield STEPS_PER_PIECE + rules.steps - steps;
  return found;
}

/** Stops a generation because of its input; of its output nothing is withdrawn. @param seq of the event */
export function inputHalt({ rule, category }: Pick<RuleFinding, "rule" | "category">, seq: Seq): EventDraft {
  return { type: "moderation.halted", from_seq: seq, replacement: "", rule, category };
}
