import { RepriseError } from "@reprise/protocol";
import { proveEvent } from "../proving/prove-event.ts";
import { READING_USAGE, recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { GENERATION_OPTIONS, GENERATION_USAGE, openGeneration } from "./open-generation.ts";
import { parseOptions, required } from "./options.ts";

/** Makes a proof that an event is in the archive. */
export const prove: Command = {
  summary: "a proof, for others, that one event is in the archive; of other generations it shows nothing",
  usage: `${GENERATION_USAGE}
  --seq <n>                   which event
  --reveal                    the proof opens what is sealed with the generation's key; without it, it shows no text
  --with-text                 the proof has the event's text, which has to be taken on trust: where the key opens other generations too
${READING_USAGE}`,
  async run(args, io) {
    const { values } = parseOptions(args, {
      ...GENERATION_OPTIONS,
      seq: { type: "string" },
      reveal: { type: "boolean", default: false },
      "with-text": { type: "boolean", default: false },
    });
    const { reveal, "with-text": claim } = values;
    if (reveal && claim)
      throw new RepriseError("invalid_request", "--reveal and --with-text exclude each other.");
    const seq = parseSeq(required(values.seq, "seq"));
    const { ref, archive, keyring, reader } = await openGeneration(values, io.env);
    await recordAccess(
      values.nats,
      {
        ...ref,
        call: "prove",
        query: { seq: String(seq), reveal: String(reveal), with_text: String(claim) },
      },
      io,
    );
    const proof = await proveEvent({
      archive,
      reader,
      ref,
      seq,
      reveal: reveal ? keyring : undefined,
      claim,
    });
    await writeLine(io.out, JSON.stringify(proof, undefined, 2));
    return EXIT.fine;
  },
};

/** @throws RepriseError `invalid_request` */
function parseSeq(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RepriseError("invalid_request", "--seq must be a number from 0.");
}
