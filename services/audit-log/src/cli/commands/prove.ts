import { RepriseError, type Seq, asSeq } from "@reprise/protocol";
import { parseOptions, required } from "@reprise/service";
import { proveEvent } from "../../proving/prove-event.ts";
import { READING_USAGE, recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "../command.ts";
import { GENERATION_OPTIONS, GENERATION_USAGE, openGeneration } from "../open-generation.ts";

/** Makes a proof that an event is in the archive. */
export const prove: Command = {
  summary:
    "a proof, for others, that one event is in the archive; it shows no other event, and opens nothing",
  usage: `${GENERATION_USAGE}
  --seq <n>                   which event
  --reveal                    the proof shows the event; without it, that there is one, and of which generation
${READING_USAGE}`,
  async run(args, io) {
    const { values } = parseOptions(args, {
      ...GENERATION_OPTIONS,
      seq: { type: "string" },
      reveal: { type: "boolean", default: false },
    });
    const seq = parseSeq(required(values.seq, "seq"));
    const { ref, archive, keyring, reader } = await openGeneration(values, io.env);
    const query = { seq: String(seq), reveal: String(values.reveal) };
    await recordAccess(values.nats, { ...ref, call: "prove", query }, io);
    const reveal = values.reveal ? keyring : undefined;
    const proof = await proveEvent({ archive, reader, ref, seq, reveal });
    await writeLine(io.out, JSON.stringify(proof, undefined, 2));
    return EXIT.fine;
  },
};

/** @throws RepriseError `invalid_request` */
function parseSeq(text: string): Seq {
  if (/^\d{1,15}$/.test(text)) return asSeq(Number(text));
  throw new RepriseError("invalid_request", "--seq must be a number from 0.");
}
