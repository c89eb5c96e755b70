import { RepriseError, type Seq, asSeq } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { proveEvent } from "../../proving/prove-event.ts";
import { recordAccess } from "./access.ts";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { type GenerationValues, openGeneration, withGeneration } from "../open-generation.ts";

/** Makes a proof that an event is in the archive. */
export const prove: MakeCommand = (io) =>
  withGeneration(new Command("prove"))
    .description(
      "a proof, for others, that one event is in the archive; it shows no other event, and opens nothing",
    )
    .requiredOption("--seq <n>", "which event")
    .option("--reveal", "the proof shows the event; without it, that there is one, and of which generation")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends GenerationValues {
  readonly seq: string;
  readonly reveal?: true;
}

async function run(values: Values, io: CommandIo): Promise<number> {
  const seq = parseSeq(values.seq);
  const { ref, archive, keyring, reader } = await openGeneration(values, io.env);
  const query = { seq: String(seq), reveal: String(values.reveal ?? false) };
  await recordAccess(values.nats, { ...ref, call: "prove", query }, io);
  const reveal = values.reveal ? keyring : undefined;
  const proof = await proveEvent({ archive, reader, ref, seq, reveal });
  await writeLine(io.out, JSON.stringify(proof, undefined, 2));
  return EXIT.fine;
}

/** @throws RepriseError `invalid_request` */
function parseSeq(text: string): Seq {
  if (/^\d{1,15}$/.test(text)) return asSeq(Number(text));
  throw new RepriseError("invalid_request", "--seq must be a number from 0.");
}
